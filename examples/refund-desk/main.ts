import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { openai } from "@proviso/adapter-openai";
import { ProvisoError, type ProviderAdapter } from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { startSimulator } from "@proviso/simulator";
import { openDesk } from "./desk.ts";
import { deskServer } from "./server.ts";
import { simulatedClerk } from "./simulated-clerk.ts";

const expiryMs = 1_000;

const onError = (error: unknown): void => console.error(`refund-desk: ${String(error)}`);

try {
  const options = {
    port: { type: "string", default: "8080" },
    file: { type: "string", default: "refund-desk.db" },
    "decide-within": { type: "string", default: String(7 * 86_400) },
    "latency-ms": { type: "string", default: "300" },
  } as const;
  const { values } = parseArgs({ options });
  const port = wholeNumber("--port", values.port);
  const decideWithinMs = wholeNumber("--decide-within", values["decide-within"]) * 1_000;
  const latencyMs = wholeNumber("--latency-ms", values["latency-ms"]);
  await using stack = new AsyncDisposableStack();
  const journal = stack.use(sqliteJournal(values.file));
  const apiKey = process.env["OPENAI_API_KEY"]?.trim() || undefined;
  const model = process.env["PROVISO_MODEL"]?.trim() || "gpt-5.4";
  let adapter: ProviderAdapter;
  if (apiKey === undefined) {
    const simulator = stack.use(await startSimulator({ rules: [simulatedClerk], latencyMs, keepRequests: false }));
    adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none", maxOutputTokens: 1_000 });
  } else {
    adapter = openai({ model, apiKey, maxOutputTokens: 4_000 });
  }
  let address = "";
  const desk = openDesk({
    adapter,
    journal,
    decideWithinMs,
    onError,
    // Where an application sends a mail, this one prints it.
    ask: ({ mailId, question, token }) => console.log(`To decide: ${question} ${address}/decide#${mailId}/${token}`),
  });
  stack.defer(() => desk.close());
  const server = deskServer({ desk, onError });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const who = apiKey === undefined ? "No OPENAI_API_KEY: a simulation answers" : `${model} answers`;
  console.log(`${who}. Mails are in ${values.file}. Open ${address}`);
  await desk.resume();
  const expiry = setInterval(() => void desk.expire().catch(onError), expiryMs);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearInterval(expiry);
  server.close();
  server.closeAllConnections();
} catch (error) {
  const known = error instanceof ProvisoError || error instanceof TypeError || (error as { code?: unknown }).code;
  if (known === false || known === undefined) throw error;
  console.error(`refund-desk: ${(error as Error).message}`);
  process.exitCode = 1;
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new TypeError(`${option} takes a whole number, not ${JSON.stringify(text)}.`);
  return Number(text);
}
