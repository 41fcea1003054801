"""
Weather, with the hour and the season as context
================================================

Temperature, dew point, wind and pressure at the three airports of New York in 2013. How they depend on one another changes
with the season and the hour: `~contextualdag.datasets.load_weather` has the data, the context are airport, month and hour.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from contextualdag import ContextualDAG
from contextualdag.datasets import load_weather
from contextualdag.diagnostics import check_table

data = load_weather()
for finding in check_table(data.X, data.Z):
    print(finding)

# %%
# Three of these findings decide what to do. Humidity follows from temperature and dew point, so it is left out, as are rain
# and visibility, which hardly ever move. Neighbouring rows depend on one another, so whole weeks are held out. To be quick,
# only the hours 3, 9, 15 and 21 are used.
#
# December is followed by January, and 21 o'clock by 0 o'clock. With a sine and a cosine of each, contexts that are close
# in time are close for the network, too.


def clock(Z):
    month, hour = 2 * np.pi * (Z["month"] - 0.5) / 12, 2 * np.pi * Z["hour"] / 24
    waves = {"sin month": np.sin(month), "cos month": np.cos(month), "sin hour": np.sin(hour), "cos hour": np.cos(hour)}
    return Z[["origin"]].assign(**waves)


used = data.frame["hour"] % 6 == 3
week = (31 * data.frame["month"] + data.frame["day"]) // 7
held_out = week % 5 == 0
X, Z = data.X[["temp", "dewp", "wind_speed", "pressure"]], clock(data.Z)
fitted, checked = used & ~held_out, used & held_out
# The structure is fixed and the network small, to be quick.
model = ContextualDAG(n_members=1, cross_fit=False, structure="common-order", hidden_layers=(64, 64), random_state=0)
model.fit(X[fitted], Z[fitted], X[checked], Z[checked])
print(model.context_test_)

# %%
# Graphs for a night and an afternoon in January and in July, at Kennedy airport.

times = pd.DataFrame({"origin": "JFK", "month": [1, 1, 7, 7], "hour": [3, 15, 3, 15]})
titles = ["January, 3:00", "January, 15:00", "July, 3:00", "July, 15:00"]
for ax, title in zip(model.plot_graphs(clock(times)), titles, strict=True):
    ax.set_title(title)

# %%
# The strongest edge, from the temperature to the dew point, along the year. The dots come from no model: each is the slope
# of the dew point over the temperature among the rows of one month and hour.

months = np.linspace(0.5, 12.5, 60)
fig, ax = plt.subplots(figsize=(7, 4))
for hour, colour in ((3, "#0072B2"), (15, "#D55E00")):
    along = pd.DataFrame({"origin": "JFK", "month": months, "hour": hour})
    names = model.names_
    weights = model.adjacency(clock(along))[:, names.index("temp"), names.index("dewp")]
    ax.plot(months, weights, color=colour, label=f"{hour}:00")
    rows = data.frame[data.frame["hour"] == hour]
    slopes = [np.polyfit(part["temp"], part["dewp"], 1)[0] for _, part in rows.groupby("month")]
    ax.plot(range(1, 13), slopes, "o", color=colour, alpha=0.6)
ax.set(xlabel="month", ylabel="degrees of dew point per degree", ylim=(0, None), xticks=range(1, 13))
ax.legend(title="edge temp → dewp")
plt.show()

# %%
# In winter, and at night, warm air is moist air: a January night that is ten degrees warmer than usual has a dew point about
# fourteen degrees higher, because both come with the air mass. On a July afternoon it is about six degrees, and by the dots
# less: then the sun warms the air and adds no water to it.
#
# What not to read into it: the air mass is not in the table and moves both, so the arrow from temperature to dew point
# stands for that, not for what a heater would do. It is one year. And where all structures are compared on the weeks held
# out (``structure="auto"``), one graph for all times predicts them at least as well: the weights do move, as the dots show,
# but for weeks that were not seen it makes little difference.
