import { expect, test, vi } from "vitest";
import { newFile, refundsIn, start } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

test("RFD-1 RFD-2 a small refund is paid without asking, and the page shows what was paid", async () => {
  const { send, until, asked, file, url } = await start();
  const id = await send("My mug A-18 came broken.");
  const mail = await until(id, "answered");
  expect(mail).toMatchObject({ text: "My mug A-18 came broken.", paid: { order: "A-18", cents: 1_200 } });
  expect(mail.answer).toMatch(/^We are sorry about your mug\. You have 12\.00 € back, under R-\S{6}\.$/);
  expect([asked, refundsIn(file)]).toEqual([[], [{ order_id: "A-18", cents: 1_200 }]]);
  expect(await (await fetch(`${url}/mails`)).json()).toEqual([mail]);
});

test("RFD-1 two mails about the same order at once: it is paid once", async () => {
  const { send, until, file } = await start();
  const ids = await Promise.all([send("A-18 came broken."), send("A-18 came broken!")]);
  const mails = await Promise.all(ids.map((id) => until(id, "answered")));
  expect(mails.filter(({ paid }) => paid !== undefined)).toHaveLength(1);
  expect(mails.some(({ answer }) => answer?.includes("were paid back for A-18 already"))).toBe(true);
  expect(refundsIn(file)).toHaveLength(1);
});

test("RFD-1 a mail that cannot be answered is failed by a code alone, and tried again on request", async () => {
  let refuse = true;
  const rule = () => (refuse ? { status: 500, body: { error: { message: "quotes the mail" } } } : undefined);
  const { send, until, post, errors } = await start({ rules: [rule] });
  const id = await send("My mug A-18 came broken.");
  expect(JSON.stringify(await until(id, "failed"))).not.toContain("quotes");
  expect(errors).toMatchObject([{ code: "throttled" }]);
  refuse = false;
  expect((await post(`/${id}/again`, {})).status).toBe(202);
  await until(id, "answered");
});

test("RFD-2 a large refund waits: nothing is paid, and only the link has the token", async () => {
  const { send, until, asked, file, url } = await start();
  const id = await send("My coat A-17 never came.");
  const mail = await until(id, "waiting");
  expect(mail).toMatchObject({ question: "Pay back 90.00 € for A-17?", expiresAt: expect.any(String) });
  expect(asked).toEqual([{ mailId: id, question: mail.question, token: expect.stringMatching(/^[\w-]{22}\./) }]);
  const secret = asked[0]!.token.split(".")[0]!;
  for (const path of ["/mails", `/${id}`, "/decide"])
    expect(await (await fetch(url + path)).text()).not.toContain(secret);
  const { readFile, readdir } = await import("node:fs/promises");
  const folder = file.replace(/desk\.db$/, "");
  for (const name of await readdir(folder)) expect((await readFile(folder + name)).includes(secret)).toBe(false);
  expect(refundsIn(file)).toEqual([]);
});

test("RFD-3 a link decides once: pay", async () => {
  const { send, until, asked, file, post } = await start();
  const id = await send("My coat A-17 never came.");
  await until(id, "waiting");
  const { token } = asked[0]!;
  const both = await Promise.all([post("/decisions", { token, pay: true }), post("/decisions", { token, pay: true })]);
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 410]);
  expect((await until(id, "answered")).answer).toContain("You have 90.00 € back");
  const late = await post("/decisions", { token, pay: false, reason: "No." });
  expect([late.status, await late.json()]).toEqual([
    410,
    { error: expect.stringContaining("does not decide any more") },
  ]);
  expect(refundsIn(file)).toEqual([{ order_id: "A-17", cents: 9_000 }]);
});

test("RFD-3 a link decides once: refuse, and the customer reads why", async () => {
  const { send, until, asked, file, post, simulator } = await start();
  const id = await send("My bicycle C-2 never came.");
  await until(id, "waiting");
  const before = simulator.requests.length;
  await post("/decisions", { token: asked[0]!.token, pay: false, reason: "It was delivered on Monday." });
  const { answer, paid } = await until(id, "answered");
  expect([answer, paid]).toEqual([
    "We are sorry about your bicycle. We cannot pay it back: It was delivered on Monday.",
    undefined,
  ]);
  expect(simulator.requests.length - before).toBe(1);
  expect(refundsIn(file)).toEqual([]);
});

test("RFD-3 a token that is made up decides nothing", async () => {
  const { send, until, asked, post } = await start();
  const id = await send("My coat A-17 never came.");
  await until(id, "waiting");
  const [secret, run] = asked[0]!.token.split(".") as [string, string];
  for (const token of ["", "x", `${"A".repeat(22)}.${run}`, secret, `${secret}.eA`]) {
    expect([token, (await post("/decisions", { token, pay: true })).status]).toEqual([token, 410]);
  }
  expect((await until(id, "waiting")).question).toBe("Pay back 90.00 € for A-17?");
});

test("RFD-5 a question without an answer in time counts as refused, also where no server was up", async () => {
  const file = await newFile();
  const first = await start({ file, decideWithinMs: 300 });
  const [one, two] = [await first.send("My coat A-17 never came."), await first.send("My bicycle C-2 never came.")];
  await first.until(one, "waiting");
  await first.until(two, "waiting");
  await first.stop();
  const second = await start({ file, decideWithinMs: 300 });
  await expect.poll(async () => (await second.desk.expire(), (await second.mail(one)).state)).toBe("answered");
  expect((await second.until(two, "answered")).answer).toContain("We cannot pay it back: Not decided in time.");
  expect((await second.post("/decisions", { token: first.asked[0]!.token, pay: true })).status).toBe(410);
  expect(refundsIn(file)).toEqual([]);
});

test("RFD-5 a waiting mail is asked about again, and each link decides until one has", async () => {
  const { send, until, asked, post } = await start();
  const id = await send("My coat A-17 never came.");
  await until(id, "waiting");
  await post(`/${id}/again`, {});
  await expect.poll(() => asked.length).toBe(2);
  await until(id, "waiting");
  expect((await post("/decisions", { token: asked[0]!.token, pay: true })).status).toBe(200);
  await until(id, "answered");
  expect((await post("/decisions", { token: asked[1]!.token, pay: true })).status).toBe(410);
});

test("RFD-6 what the pages would not send is refused before anything is done", async () => {
  const { url, post, simulator } = await start();
  for (const path of ["/mails", "/decisions", "/mail/x/again"]) {
    expect((await post(path, "{}", { "content-type": "text/plain" })).status).toBe(415);
    for (const body of ["", "{", "null", "[]"])
      expect([path, body, (await post(path, body)).status]).toEqual([path, body, 400]);
    expect((await post(path, `"${"x".repeat(70_000)}"`)).status).toBe(413);
  }
  for (const body of [{}, { text: 7 }, { text: "  " }, { text: "x".repeat(4_001) }])
    expect((await post("/mails", body)).status).toBe(400);
  for (const body of [{ token: "x" }, { token: "x", pay: "yes" }, { token: "x", pay: false }, { pay: true }])
    expect((await post("/decisions", body)).status).toBe(400);
  for (const path of ["/mail/none", "/mail/", "/mail/a%00b", "/page/desk.js", "/../server.ts", "/constructor"])
    expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
  expect((await post("/mail/none/again", {})).status).toBe(404);
  expect((await fetch(`${url}/decisions`)).status).toBe(405);
  expect((await fetch(`${url}/mails`, { method: "DELETE" })).status).toBe(405);
  expect((await post("/decide", {})).status).toBe(405);
  expect(simulator.requests).toEqual([]);
});

test("RFD-6 the pages load scripts and styles from here alone, and send their address nowhere", async () => {
  const { url } = await start();
  for (const path of ["/", "/decide", "/desk.js", "/decide.js", "/page.css"]) {
    const response = await fetch(url + path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toBe("default-src 'self'; frame-ancestors 'none'");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect(await response.text()).not.toMatch(/innerHTML|https?:\/\//);
  }
});
