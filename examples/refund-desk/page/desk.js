// What customers and the model write is set as text and never as HTML.
const find = (id) => document.getElementById(id);
const [form, text, status, none, list] = ["form", "text", "status", "none", "mails"].map(find);
const json = { "content-type": "application/json" };
const words = {
  answering: "Being answered",
  waiting: "Waiting for a decision",
  answered: "Answered",
  failed: "Failed",
};
const items = new Map();

function part(parent, kind, content, name = "p") {
  const element = document.createElement(name);
  element.className = kind;
  element.textContent = content;
  parent.append(element);
  return element;
}

function show(mail) {
  let item = items.get(mail.id);
  if (item === undefined) {
    item = document.createElement("li");
    items.set(mail.id, item);
    list.prepend(item);
  }
  const told = JSON.stringify(mail);
  if (item.dataset.told === told) return;
  item.dataset.told = told;
  item.className = mail.state;
  item.replaceChildren();
  const state = part(item, "state", "", "div");
  part(state, "word", words[mail.state], "span");
  part(state, "quiet", new Date(mail.receivedAt).toLocaleString(), "time");
  part(item, "text", mail.text);
  if (mail.state === "answered") part(item, "more", mail.answer);
  if (mail.state === "waiting") offer(part(item, "more", mail.question), mail.id, "Ask again");
  if (mail.state === "failed") offer(part(item, "more", "There is no answer."), mail.id, "Try again");
}

function offer(line, id, word) {
  const button = part(line, "", word, "button");
  button.addEventListener("click", () => {
    button.disabled = true;
    void fetch(`${id}/again`, { method: "POST", headers: json, body: "{}" }).then(() => refresh(id));
  });
}

async function refresh(id) {
  const response = await fetch(id);
  if (response.ok) show(await response.json());
}

async function showAll() {
  const mails = await (await fetch("mails")).json();
  none.hidden = mails.length > 0;
  for (const mail of mails.toReversed()) show(mail);
}

async function post() {
  status.textContent = "";
  const body = JSON.stringify({ text: text.value });
  const response = await fetch("mails", { method: "POST", headers: json, body }).catch(() => undefined);
  if (response?.ok !== true) {
    status.textContent = response === undefined ? "The server cannot be reached." : (await response.json()).error;
    return;
  }
  text.value = "";
  await showAll();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void post();
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});

await showAll();
// What is not answered yet may be answered by another process, after another start of the server.
async function refreshAll() {
  const undone = [...items].filter(([, item]) => item.className === "answering" || item.className === "waiting");
  try {
    for (const [id] of undone) await refresh(id);
    if (status.textContent === "The server cannot be reached.") status.textContent = "";
  } catch {
    status.textContent = "The server cannot be reached.";
  }
}
setInterval(() => void refreshAll(), 500);
