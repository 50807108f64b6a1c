// A button on every block of code that copies it: without prompts, and without what was printed.

/** What a reader wants to paste: the lines after prompts where there are any, or everything. */
function codeOf(block) {
  const lines = block.innerText.replace(/\n+$/, "").split("\n");
  const prompt = lines.find((line) => /^(>>> |\$ )/.test(line))?.slice(0, 4);
  if (!prompt) return lines.join("\n");
  if (prompt.startsWith("$ ")) {
    const kept = [];
    let goesOn = false;
    for (const line of lines) {
      if (line.startsWith("$ ")) kept.push(line.slice(2));
      else if (goesOn) kept.push(line);
      goesOn = (line.startsWith("$ ") || goesOn) && line.endsWith("\\");
    }
    return kept.join("\n");
  }
  return lines
    .filter((line) => /^(>>>|\.\.\.)( |$)/.test(line))
    .map((line) => line.slice(4))
    .join("\n");
}

for (const block of document.querySelectorAll("div.highlight > pre")) {
  if (block.closest(".output, .highlight-text")) continue; // what programs print
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(codeOf(block));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.parentElement.append(button);
}
