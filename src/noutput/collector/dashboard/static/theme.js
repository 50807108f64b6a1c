// Light or dark, before anything is drawn; the visitor's choice is kept in this browser only.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem("noutput-theme");
    } catch {
      return null;
    }
  };
  const apply = () => {
    root.dataset.theme = stored() ?? (system.matches ? "dark" : "light");
    dispatchEvent(new Event("themechange"));
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-toggle]");
    const mark = () => button.setAttribute("aria-pressed", root.dataset.theme === "dark");
    button.hidden = false;
    mark();
    button.addEventListener("click", () => {
      const next = root.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("noutput-theme", next);
      } catch {
        // The choice lasts as long as the page.
      }
      root.dataset.theme = next;
      dispatchEvent(new Event("themechange"));
      mark();
    });
  });
})();
