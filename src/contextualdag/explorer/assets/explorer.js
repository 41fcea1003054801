// Sends the size of the panels and the colour scheme to the server, keeps the address of the page a link to the view, and
// saves pictures of the graphs.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let last = "";

  function graph(side) {
    const box = document.getElementById("graph-" + side);
    return box && box._cyreg ? box._cyreg.cy : null;
  }

  // Nodes are placed in pixels of the panel, so the default zoom is 1.
  function resetZoom() {
    for (const side of ["a", "b"]) {
      const cy = graph(side);
      if (cy) {
        cy.resize();
        cy.viewport({ zoom: 1, pan: { x: 0, y: 0 } });
      }
    }
  }

  function measure() {
    const canvas = document.querySelector("#panel-a .canvas");
    if (!canvas || canvas.clientWidth < 60) return;
    const screen = { width: canvas.clientWidth, height: canvas.clientHeight, dark: dark.matches };
    const text = JSON.stringify(screen);
    resetZoom();
    if (text === last) return;
    last = text;
    window.dash_clientside.set_props("screen", { data: screen });
  }

  function begin() {
    const canvas = document.querySelector("#panel-a .canvas");
    if (!canvas || !graph("a") || !window.dash_clientside.set_props) {
      window.setTimeout(begin, 20);
      return;
    }
    new ResizeObserver(measure).observe(canvas);
    dark.addEventListener("change", measure);
    // Dash's sliders have no names for screen readers.
    for (const thumb of document.querySelectorAll(".feature [role=slider]")) {
      const letter = thumb.closest(".control").querySelector(".letter");
      const name = thumb.closest(".feature").querySelector("legend").textContent;
      thumb.setAttribute("aria-label", letter ? name + ", context " + letter.textContent : name);
    }
    document.getElementById("zoom").addEventListener("click", resetZoom);
    // Cytoscape caches the position of its panel, which moves when the caption above takes another line.
    for (const side of ["a", "b"]) {
      document.getElementById("panel-" + side).addEventListener("pointerdown", () => graph(side) && graph(side).resize(), true);
    }
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    explorer: {
      image: function () {
        const pressed = window.dash_clientside.callback_context.triggered_id;
        if (!pressed || !window.dash_clientside.callback_context.triggered[0].value) {
          return window.dash_clientside.no_update;
        }
        const background = getComputedStyle(document.body).getPropertyValue("--background").trim();
        const type = pressed.save.toLowerCase();
        const options = { bg: background, full: true };
        if (type === "png") options.scale = 3;
        return { type: type, action: "download", filename: "graph-" + pressed.side, options: options };
      },
      link: function (query) {
        const address = window.location.origin + window.location.pathname + (query || "");
        if (query && query !== "?") window.history.replaceState(window.history.state, "", address);
        return address;
      },
    },
  });
  begin();
})();
