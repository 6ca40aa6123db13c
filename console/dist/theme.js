// Runs before the first paint: a page never shows the other theme for a moment.
(() => {
  const chosen = localStorage.getItem("switchyard-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
