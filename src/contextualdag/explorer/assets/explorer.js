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

  // Dash's sliders have no names for screen readers.
  function nameSliders() {
    for (const thumb of document.querySelectorAll(".feature [role=slider]:not([aria-label])")) {
      const letter = thumb.closest(".control").querySelector(".letter");
      const name = thumb.closest(".feature").querySelector("legend").textContent;
      thumb.setAttribute("aria-label", letter ? name + ", context " + letter.textContent : name);
    }
  }

  // What an edge has to say beside the pointer. Redrawing hides it, as the edge may be gone then.
  function hints(side) {
    const cy = graph(side);
    if (!cy || cy.hinting) return;
    cy.hinting = true;
    const canvas = document.querySelector("#panel-" + side + " .canvas");
    const box = document.createElement("div");
    box.className = "hint hidden";
    box.setAttribute("aria-hidden", "true"); // the table has the same
    canvas.appendChild(box);
    cy.on("mouseover mousemove", "edge[hint]", function (event) {
      const at = event.renderedPosition;
      box.textContent = event.target.data("hint");
      box.classList.remove("hidden");
      const right = at.x > canvas.clientWidth / 2, low = at.y > canvas.clientHeight / 2;
      box.style.left = right ? "auto" : at.x + 14 + "px";
      box.style.right = right ? canvas.clientWidth - at.x + 14 + "px" : "auto";
      box.style.top = low ? "auto" : at.y + 14 + "px";
      box.style.bottom = low ? canvas.clientHeight - at.y + 14 + "px" : "auto";
    });
    cy.on("mouseout data remove", "edge", () => box.classList.add("hidden"));
    canvas.addEventListener("pointerleave", () => box.classList.add("hidden"));
  }

  function begin() {
    const canvas = document.querySelector("#panel-a .canvas");
    if (!canvas || !graph("a") || !window.dash_clientside.set_props) {
      window.setTimeout(begin, 20);
      return;
    }
    new ResizeObserver(measure).observe(canvas);
    dark.addEventListener("change", measure);
    // Some thumbs are there only once their slider is shown.
    nameSliders();
    new MutationObserver(nameSliders).observe(document.getElementById("page"), { childList: true, subtree: true });
    document.getElementById("zoom").addEventListener("click", resetZoom);
    // Cytoscape caches the position of its panel, which moves when the caption above takes another line.
    for (const side of ["a", "b"]) {
      document.getElementById("panel-" + side).addEventListener("pointerenter", () => hints(side));
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
