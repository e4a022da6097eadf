// The tabs at the top, as keyboards and screen readers expect them.

import { $ } from "./dom.js";

const tabs = [...document.querySelectorAll("[role=tab]")];

/** Shows the panel of this name and no other. */
export function select(name) {
  for (const tab of tabs) {
    const isIt = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(isIt));
    tab.tabIndex = isIt ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !isIt;
  }
}

/** Calls `onChoose` with the name of a tab that the reader chose. */
export function listenToTabs(onChoose) {
  tabs.forEach((tab, index) => {
    const other = tabs[(index + 1) % tabs.length];
    tab.addEventListener("click", () => onChoose(tab.id.replace("tab-", "")));
    tab.addEventListener("keydown", ({ key }) => {
      if (key !== "ArrowRight" && key !== "ArrowLeft") return;
      other.click();
      other.focus();
    });
  });
}
