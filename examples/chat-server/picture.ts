// Takes the picture of the README: node picture.ts [file]. CHROMIUM is the path of a Chromium that is in no usual place.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { openai } from "@proviso/adapter-openai";
import { memoryConversations } from "@proviso/runtime";
import { startSimulator } from "@proviso/simulator";
import { findChromium, startChromium } from "../../scripts/chromium.ts";
import { chatServer } from "./server.ts";
import { simulatedFriend } from "./simulated-friend.ts";

const path = process.argv[2] ?? new URL("picture.png", import.meta.url).pathname;
const executable = findChromium();
if (executable === undefined) throw new Error("There is no Chromium: name one in CHROMIUM, or install the package.");
await using stack = new AsyncDisposableStack();
const simulator = stack.use(await startSimulator({ rules: [simulatedFriend] }));
const adapter = openai({
  model: "simulated",
  baseURL: simulator.baseURL,
  apiKey: "none",
  maxOutputTokens: 1_000,
});
const server = chatServer({ adapter, store: memoryConversations() });
stack.defer(() => {
  server.close();
  server.closeAllConnections();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

const browser = await startChromium(executable);
stack.defer(() => browser.close());
const page = await browser.newPage({ viewport: { width: 1_100, height: 620 } });
await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
const say = async (text: string): Promise<void> => {
  await page.fill("#said", text);
  await page.press("#said", "Enter");
};
for (const text of ["Hello!", "I live in a lighthouse on the west coast.", "My cat is called Ada."]) {
  await say(text);
  await page.locator("#status", { hasText: "Saved." }).waitFor();
}
await say("What do you know about me?");
// In the middle of the answer, as a person sees it.
await page
  .locator("#messages li.assistant", { hasText: "I know this about you: The user lives in a lighthouse" })
  .waitFor();
await page.screenshot({ path });
console.log(`The picture is in ${path}.`);
