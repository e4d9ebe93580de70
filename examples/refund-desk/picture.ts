// Takes the pictures of the README: node picture.ts [folder]. CHROMIUM is the path of a Chromium that is in no usual place.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openai } from "@proviso/adapter-openai";
import { sqliteJournal } from "@proviso/journal/node";
import { startSimulator } from "@proviso/simulator";
import { findChromium, startChromium } from "../../scripts/chromium.ts";
import { openDesk, type Question } from "./desk.ts";
import { deskServer } from "./server.ts";
import { simulatedClerk } from "./simulated-clerk.ts";

const into = process.argv[2] ?? import.meta.dirname;
const executable = findChromium();
if (executable === undefined) throw new Error("There is no Chromium: name one in CHROMIUM, or install the package.");
await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "refund-desk-"));
stack.defer(() => rm(folder, { recursive: true }));
const simulator = stack.use(await startSimulator({ rules: [simulatedClerk] }));
const adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none", maxOutputTokens: 1_000 });
const journal = stack.use(sqliteJournal(join(folder, "desk.db")));
const asked: Question[] = [];
const ask = (question: Question): void => void asked.push(question);
const desk = openDesk({ adapter, journal, decideWithinMs: 7 * 86_400_000, ask });
stack.defer(() => desk.close());
const server = deskServer({ desk });
stack.defer(() => {
  server.close();
  server.closeAllConnections();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const browser = await startChromium(executable);
stack.defer(() => browser.close());
const desktop = await browser.newPage({ viewport: { width: 960, height: 740 } });
await desktop.goto(url);
const card = (text: string) => desktop.locator("#mails li", { hasText: text });
for (const [text, state] of [
  ["Hello! The mug of order A-18 came broken.", "Answered"],
  ["My bicycle, order C-2, never came.", "Waiting"],
  ["My rain coat never came. It is order A-17.", "Waiting"],
] as const) {
  await desktop.fill("#text", text);
  await desktop.press("#text", "Control+Enter");
  await card(text).locator(".word", { hasText: state }).waitFor();
}
const [bicycle, coat] = asked.map(({ mailId, token }) => `${url}/decide#${mailId}/${token}`) as [string, string];
const decision = await browser.newPage({ viewport: { width: 760, height: 350 } });
await decision.goto(coat);
await decision.locator("#form").waitFor();
await decision.screenshot({ path: join(into, "decide.png") });
await decision.goto("about:blank");
await decision.goto(bicycle);
await decision.fill("#reason", "It was delivered on Monday.");
await decision.click("#refuse");
await card("bicycle").locator(".word", { hasText: "Answered" }).waitFor();
await desktop.screenshot({ path: join(into, "desk.png") });
console.log(`The pictures are in ${into}.`);
