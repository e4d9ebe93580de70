import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { client, newFile, refundsIn, run } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

const linkOf = /(http:\S+\/decide#mail\S+)/;

test("RFD-4 RFD-8 a link that was sent before a kill -9 decides in the process that was started after it", async () => {
  const file = await newFile();
  const args = ["--port", "0", "--file", "desk.db", "--latency-ms", "20"];
  const first = run(dirname(file), args);
  const desk = client(await first.serves());
  expect(first.output.stdout).toMatch(/^No OPENAI_API_KEY: a simulation answers\. Mails are in desk\.db\. Open http/);
  const id = await desk.send("My coat A-17 never came.");
  const link = await first.printed(linkOf);
  first.child.kill("SIGKILL");
  await first.ended;

  const second = run(dirname(file), args);
  const again = client(await second.serves());
  expect(await again.mail(id)).toMatchObject({ state: "waiting", question: "Pay back 90.00 € for A-17?" });
  const token = link.split("/").at(-1);
  expect((await again.post("/decisions", { token, pay: true })).status).toBe(200);
  expect((await again.until(id, "answered")).answer).toContain("You have 90.00 € back");
  expect(refundsIn(file)).toEqual([{ order_id: "A-17", cents: 9_000 }]);
  second.child.kill("SIGTERM");
  expect(await second.ended).toMatchObject({ code: 0, stderr: "" });
});

test("RFD-4 what was under way is answered by the next process, and each refund is in the file once", async () => {
  const file = await newFile();
  const args = (latencyMs: number): string[] => ["--port", "0", "--file", "desk.db", "--latency-ms", String(latencyMs)];
  const first = run(dirname(file), args(150));
  const desk = client(await first.serves());
  const ids: string[] = [];
  for (const order of ["A-18", "B-4", "A-17", "C-2"]) ids.push(await desk.send(`${order} came broken.`));
  // Somewhere between the first request and the last answer.
  await new Promise((resolve) => setTimeout(resolve, 380));
  first.child.kill("SIGKILL");
  await first.ended;

  const second = run(dirname(file), args(1));
  const again = client(await second.serves());
  for (const [place, state] of (["answered", "answered", "waiting", "waiting"] as const).entries()) {
    await again.until(ids[place]!, state);
  }
  expect(refundsIn(file)).toEqual([
    { order_id: "A-18", cents: 1_200 },
    { order_id: "B-4", cents: 4_900 },
  ]);
  second.child.kill("SIGINT");
  // Two processes were never there at once, and nothing is told but the questions.
  expect(await second.ended).toMatchObject({ code: 0, stderr: "" });
});

test("RFD-4 what a SIGTERM interrupts goes on at the next start", async () => {
  const file = await newFile();
  const args = ["--port", "0", "--file", "desk.db", "--latency-ms"];
  const first = run(dirname(file), [...args, "30000"]);
  const id = await client(await first.serves()).send("A-18 came broken.");
  first.child.kill("SIGTERM");
  expect(await first.ended).toMatchObject({ code: 0, stderr: "" });
  const second = run(dirname(file), [...args, "1"]);
  await client(await second.serves()).until(id, "answered");
  expect(refundsIn(file)).toHaveLength(1);
});

test("RFD-8 what it cannot begin with is one line and exit 1", async () => {
  const cwd = dirname(await newFile());
  await writeFile(join(cwd, "notes.txt"), "Not a database.".repeat(100));
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  for (const [args, says] of [
    [["--prot", "1"], "Unknown option '--prot'"],
    [["--port", "many"], "--port takes a whole number"],
    [["--port", "70000"], "65536"],
    [["--port", String(port)], "EADDRINUSE"],
    [["--file", "notes.txt"], "notes.txt"],
  ] as const) {
    const { code, stdout, stderr } = await run(cwd, args).ended;
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^refund-desk: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
});

test("RFD-7 the pictures of the README are there, and of the pages' size", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const names = [...readme.matchAll(/!\[.*\]\((.+\.png)\)/g)].map(([, name = ""]) => name);
  expect(names).toHaveLength(2);
  for (const name of names) {
    const bytes = await readFile(new URL(`../${name}`, import.meta.url));
    // The header of a PNG has its width and height.
    expect([bytes.readUInt32BE(16), bytes.length < 150_000]).toEqual([name === "decide.png" ? 760 : 960, true]);
  }
});
