// What a model or a user wrote is set as text and never as HTML.
const find = (id) => document.getElementById(id);
const [messages, facts, conversations] = ["messages", "facts", "conversations"].map(find);
const [form, said, stop, status] = ["form", "said", "stop", "status"].map(find);

let id = location.hash.slice(1) || crypto.randomUUID();
let leaving;

function line(list, text, kind = "") {
  const item = document.createElement("li");
  item.className = kind;
  item.textContent = text;
  list.append(item);
  item.scrollIntoView({ block: "end" });
  return item;
}

function show(conversation) {
  messages.replaceChildren();
  for (const { role, text } of conversation.messages) line(messages, text, role);
  showFacts(conversation.facts);
}

function showFacts(known) {
  facts.replaceChildren();
  for (const fact of known) line(facts, fact);
}

async function showConversations() {
  const all = await (await fetch("conversations")).json();
  conversations.replaceChildren();
  for (const one of all) {
    const item = line(conversations, new Date(one.savedAt).toLocaleString());
    item.setAttribute("aria-current", String(one.id === id));
    item.addEventListener("click", () => void open(one.id));
  }
}

async function open(other) {
  leaving?.abort();
  id = other;
  location.hash = id;
  status.textContent = "";
  show(await (await fetch(`conversations/${id}`)).json());
  await showConversations();
  said.focus();
}

/** The events of a response, as the server sends them. EventSource cannot post, and would ask again by itself. */
async function* eventsOf(response) {
  let unread = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (unread + chunk).split("\n\n");
    unread = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = /^event: (.+)\ndata: (.*)$/.exec(block) ?? [];
      if (name !== undefined) yield { name, data: JSON.parse(data) };
    }
  }
}

async function take(text) {
  const own = id;
  line(messages, text, "user");
  leaving = new AbortController();
  const { signal } = leaving;
  stop.hidden = false;
  status.textContent = "…";
  let answer;
  const add = (more) => {
    answer ??= line(messages, "", "assistant");
    answer.textContent += more;
    answer.scrollIntoView({ block: "end" });
  };
  const fail = (why) => {
    line(messages, why, "failed");
    status.textContent = "Nothing of this turn was saved.";
  };
  try {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ said: text });
    const response = await fetch(`conversations/${own}`, { method: "POST", headers, body, signal });
    if (!response.ok) return fail((await response.json()).error);
    let ended = false;
    for await (const { name, data } of eventsOf(response)) {
      ended ||= name === "failed" || name === "saved";
      // What a request has shown stands in a line of its own: only that is dropped where it is made again.
      if (name === "turn") answer = undefined;
      if (name === "text") add(data);
      if (name === "reset") {
        answer?.remove();
        answer = undefined;
      }
      if (name === "tool") line(messages, `${data.name} ${data.ok ? "was called" : "failed"}`, "tool");
      if (name === "failed") fail(`No answer (${data.code}).`);
      if (name === "saved") {
        showFacts(data.facts);
        status.textContent = "Saved.";
      }
    }
    if (!ended) fail("The connection broke.");
  } catch {
    // Another conversation may be shown by now.
    if (id === own) fail(signal.aborted ? "Stopped." : "The server cannot be reached.");
  } finally {
    stop.hidden = true;
    location.hash = id;
    await showConversations();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = said.value.trim();
  if (text === "" || !stop.hidden) return;
  said.value = "";
  void take(text);
});
stop.addEventListener("click", () => leaving?.abort());
find("begin").addEventListener("click", () => void open(crypto.randomUUID()));
await open(id);
