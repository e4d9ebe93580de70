// What customers and the model write is set as text and never as HTML.
const find = (id) => document.getElementById(id);
const [question, text, form, reason, until, status, answer] = [
  "question",
  "text",
  "form",
  "reason",
  "until",
  "status",
  "answer",
].map(find);
// mail/<id>/<token>: behind "#", so no request line and no log has the token.
const [, id, token] = /^#(mail\/[\w-]+)\/([\w.-]+)$/.exec(location.hash) ?? [];
const buttons = [find("pay"), find("refuse")];

async function look() {
  const response = id === undefined ? undefined : await fetch(id);
  if (response?.ok !== true) {
    question.textContent = "This link leads to no question.";
    status.textContent = "Was it copied to its end?";
    return undefined;
  }
  return response.json();
}

async function decide(chosen) {
  for (const button of buttons) button.disabled = true;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ token, ...chosen });
  const response = await fetch("decisions", { method: "POST", headers, body }).catch(() => undefined);
  if (response?.ok !== true) {
    status.textContent = response === undefined ? "The server cannot be reached." : (await response.json()).error;
    // Its time may come again, but a link that was used has none.
    for (const button of buttons) button.disabled = response?.status === 410;
    return;
  }
  form.hidden = true;
  status.textContent = chosen.pay ? "You decided to pay it back." : "You refused.";
  for (;;) {
    const mail = await (await fetch(id)).json();
    if (mail.state === "answered") {
      answer.textContent = mail.answer;
      answer.hidden = false;
      return;
    }
    if (mail.state === "failed") return;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  // Enter in the field of the reason refuses, and never pays.
  if (document.activeElement === reason) find("refuse").click();
  else void decide({ pay: true });
});
find("refuse").addEventListener("click", () => {
  if (reason.value.trim() === "") {
    status.textContent = "Give a reason.";
    reason.focus();
    return;
  }
  void decide({ pay: false, reason: reason.value });
});

const mail = await look();
if (mail !== undefined) {
  text.textContent = mail.text;
  if (mail.state === "waiting") {
    question.textContent = mail.question;
    if (mail.expiresAt !== undefined)
      until.textContent = `This can be decided until ${new Date(mail.expiresAt).toLocaleString()}.`;
    form.hidden = false;
  } else {
    question.textContent = "This was decided.";
    answer.textContent = mail.answer ?? "";
    answer.hidden = mail.answer === undefined;
  }
}
