import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openai } from "@proviso/adapter-openai";
import { sqliteJournal } from "@proviso/journal/node";
import { startSimulator, type SimulatorRule } from "@proviso/simulator";
import { expect, onTestFinished } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { openDesk, type MailView, type Question } from "../desk.ts";
import { deskServer } from "../server.ts";
import { simulatedClerk } from "../simulated-clerk.ts";

export async function newFile(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "refund-desk-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return join(path, "desk.db");
}

/** What was paid back, as the file has it. */
export function refundsIn(file: string): readonly Record<string, unknown>[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare("SELECT order_id, cents FROM refunds ORDER BY order_id").all();
  } finally {
    database.close();
  }
}

interface Options {
  readonly file?: string;
  readonly rules?: readonly SimulatorRule[];
  readonly decideWithinMs?: number;
}

/** The server over a file, with a simulated model that the rules come before. */
export async function start({ file, rules = [], decideWithinMs = 604_800_000 }: Options = {}) {
  const path = file ?? (await newFile());
  const simulator = await startSimulator({ rules: [...rules, simulatedClerk] });
  const throttle = { maxAttempts: 1 };
  const adapter = openai({
    model: "simulated",
    baseURL: simulator.baseURL,
    apiKey: "none",
    maxOutputTokens: 1_000,
    throttle,
  });
  const journal = sqliteJournal(path);
  const errors: unknown[] = [];
  const asked: Question[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const ask = (question: Question): void => void asked.push(question);
  const desk = openDesk({ adapter, journal, decideWithinMs, onError, ask });
  const server = deskServer({ desk, onError });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= (async () => {
      server.close();
      server.closeAllConnections();
      await desk.close();
      await journal.close();
      await simulator.close();
    })());
  onTestFinished(stop);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { ...client(url), url, file: path, simulator, desk, errors, asked, stop };
}

/** What the pages ask of a server. */
export function client(url: string) {
  const post = (
    path: string,
    body: unknown,
    headers: Record<string, string> = { "content-type": "application/json" },
  ) => fetch(url + path, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
  const mail = async (id: string): Promise<MailView> => (await (await fetch(`${url}/${id}`)).json()) as MailView;
  return {
    post,
    mail,
    async send(text: string): Promise<string> {
      const response = await post("/mails", { text });
      expect(response.status).toBe(201);
      return ((await response.json()) as { id: string }).id;
    },
    /** Waits until the mail is in that state. */
    async until(id: string, state: MailView["state"]): Promise<MailView> {
      await expect.poll(async () => (await mail(id)).state, { timeout: 120_000, interval: 10 }).toBe(state);
      return mail(id);
    },
  };
}

const program = new URL("../main.ts", import.meta.url).pathname;

/** The program, in a process of its own. */
export function run(cwd: string, args: readonly string[]) {
  const child = spawn(process.execPath, [...fromSources, program, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...output }));
  const printed = async (pattern: RegExp): Promise<string> => {
    await expect.poll(() => output.stdout, { timeout: 120_000 }).toMatch(pattern);
    return pattern.exec(output.stdout)?.[1] ?? "";
  };
  return { child, output, ended, printed, serves: () => printed(/Open (http:\S+)/) };
}
