// What a test asks of the page; it runs there.
/** Texts whose contrast is below 4.5, by WCAG 2.2. */
function faintTexts() {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [1, 1];
  const drawing = canvas.getContext("2d", { willReadFrequently: true });
  const colorOf = (css) => {
    drawing.clearRect(0, 0, 1, 1);
    drawing.fillStyle = css;
    drawing.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0, a = 0] = drawing.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const light = ([r, g, b]) => {
    const part = (value) => {
      const s = value / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = colorOf(getComputedStyle(at).backgroundColor);
      if (color[3] > 0.99) return color;
    }
    return colorOf(getComputedStyle(document.documentElement).colorScheme === "dark" ? "black" : "white");
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const element = texts.currentNode.parentElement;
    if (texts.currentNode.nodeValue?.trim() === "" || element.closest("noscript,option") !== null) continue;
    const [one, other] = [light(colorOf(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) faint.push(`${contrast.toFixed(2)} ${texts.currentNode.nodeValue}`);
  }
  return faint;
}

/** What a text of a run could have made of itself. */
function oddThings() {
  return {
    elements: document.querySelectorAll("#app script, #app img, #app iframe, #app a[href^='javascript']").length,
    // oxlint-disable-next-line no-control-regex -- these are what must not be there
    hidden: /[\u202a-\u202e\u2066-\u2069\u0007]/.test(document.title + document.body.innerText),
    isTaken: document.title === "taken",
  };
}

function shownRows() {
  return [...document.querySelectorAll(".row")].map((element) => ({
    text: element.textContent,
    line: getComputedStyle(element.querySelector(".title")).textDecorationLine,
    bar: getComputedStyle(element.querySelector(".track i")).backgroundImage.slice(0, 25),
  }));
}

async function scroll(frames) {
  const box = document.querySelector(".rows");
  for (let n = 0; n < frames; n++) {
    box.scrollTop += 900;
    await new Promise(requestAnimationFrame);
  }
}

globalThis.inPage = { faintTexts, oddThings, shownRows, scroll };
