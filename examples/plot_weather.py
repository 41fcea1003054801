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
day = 31 * data.frame["month"] + data.frame["day"]
cycles = {"month": 12, "hour": 24}
for finding in check_table(data.X, data.Z, groups=day, cyclic=cycles):
    print(finding)

# %%
# December is followed by January, and 21 o'clock by 0 o'clock: ``cyclic`` says so. The airport is a category. Rows of one
# day, at all three airports, are alike, so that whole days are held out (``groups``). Days are still like the day before, as
# the first finding says, so at the end whole weeks are held out as well.
#
# Humidity follows from temperature and dew point, so it is left out, as are rain and visibility, which hardly ever move. To
# be quick, only the hours 3, 9, 15 and 21 are used, and one small network.

used = data.frame["hour"] % 6 == 3
X, Z = data.X[["temp", "dewp", "wind_speed", "pressure"]][used], data.Z[used]
model = ContextualDAG(cyclic=cycles, n_members=1, hidden_layers=(64, 64), random_state=0)
model.fit(X, Z, groups=day[used])
print(f"{model.n_samples_} rows. The structure that predicts held-out days best: {model.structure_}.")
test = model.context_test_
print(f"Test of whether the context matters: p = {test.p_value:.3f}, of its features {test.features}.")
print(model.summary()[["source", "target", "weight", "spread", "varies", "changes_with"]].to_string())

# %%
# Graphs for a night and an afternoon in January and in July, at Kennedy airport.

times = pd.DataFrame({"origin": "JFK", "month": [1, 1, 7, 7], "hour": [3, 15, 3, 15]})
titles = ["January, 3:00", "January, 15:00", "July, 3:00", "July, 15:00"]
for ax, title in zip(model.plot_graphs(times), titles, strict=True):
    ax.set_title(title)

# %%
# The strongest edge, from the temperature to the dew point, along the year. The dots come from no model: each is the slope
# of the dew point over the temperature among the rows of one month and hour.

months = np.linspace(0.5, 12.5, 60)
fig, ax = plt.subplots(figsize=(7, 4))
for hour, colour in ((3, "#0072B2"), (15, "#D55E00")):
    along = pd.DataFrame({"origin": "JFK", "month": months, "hour": hour})
    names = model.names_
    weights = model.adjacency(along)[:, names.index("temp"), names.index("dewp")]
    ax.plot(months, weights, color=colour, label=f"{hour}:00")
    rows = data.frame[data.frame["hour"] == hour]
    slopes = [np.polyfit(part["temp"], part["dewp"], 1)[0] for _, part in rows.groupby("month")]
    ax.plot(range(1, 13), slopes, "o", color=colour, alpha=0.6)
    mid = model.adjacency(along[:2].assign(month=[1, 7]))[:, names.index("temp"), names.index("dewp")]
    print(f"{hour}:00: in January {mid[0]:.2f} (dot {slopes[0]:.2f}), in July {mid[1]:.2f} (dot {slopes[6]:.2f})")
ax.set(xlabel="month", ylabel="degrees of dew point per degree", ylim=(0, None), xticks=range(1, 13))
ax.legend(title="edge temp → dewp")
plt.show()

# %%
# Is it only that days are like the days before? With whole weeks held out:

weeks = ContextualDAG(**model.get_params()).fit(X, Z, groups=day[used] // 7)
for groups, its in (("days", model.context_test_), ("weeks", weeks.context_test_)):
    low, high = its.gain_interval
    print(
        f"{groups}: p = {its.p_value:.3f}; graphs of the own time save {its.gain:.3f} of the error ({low:.3f} to {high:.3f})"
    )

# %%
# The change with the season is there with weeks as well. What not to read into it: the air mass is not in the table and
# moves temperature and dew point, so that the arrow between them stands for that, not for what a heater would do. It is one
# year. And the model smooths: on July afternoons the dots lie lower than its curve.
#
# At these airports, warm air is moist air, most of all in winter and at night. A January night that is ten degrees warmer
# than usual for the season has a dew point about fourteen degrees higher (by the dots twelve to thirteen), because both come
# with the air mass; on a July afternoon it is about seven degrees (by the dots three), for then the sun warms the air and
# adds no water to it.
