// Keys on the screen of approvals: j and k go from call to call, a to its yes, d to the reason of a no. Enter or space then
// presses what is in focus: no single key decides.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const calls = [...document.querySelectorAll("[data-approval]")];
  const at = calls.findIndex((call) => call.contains(document.activeElement));
  const target = {
    j: () => calls[Math.min(at + 1, calls.length - 1)],
    k: () => calls[Math.max(at - 1, 0)],
    a: () => calls[Math.max(at, 0)]?.querySelector("button.main"),
    d: () => calls[Math.max(at, 0)]?.querySelector("input"),
  }[event.key]?.();
  if (target) {
    event.preventDefault();
    target.focus();
  }
});
