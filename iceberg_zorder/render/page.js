for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const command = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      // Not allowed here: select it, so that one key copies it.
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 3000);
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement.matches(".term")) document.activeElement.blur();
});
