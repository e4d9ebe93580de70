import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { openai } from "@proviso/adapter-openai";
import { ProvisoError, type ProviderAdapter } from "@proviso/core";
import { sqliteConversations } from "@proviso/node";
import { startSimulator } from "@proviso/simulator";
import { chatServer } from "./server.ts";
import { simulatedFriend } from "./simulated-friend.ts";

try {
  const options = {
    port: { type: "string", default: "8080" },
    file: { type: "string", default: "conversations.db" },
  } as const;
  const { port, file } = parseArgs({ options }).values;
  if (!/^\d{1,5}$/.test(port)) throw new TypeError(`--port takes a number, not ${JSON.stringify(port)}.`);
  await using stack = new AsyncDisposableStack();
  const store = stack.use(sqliteConversations(file));
  const apiKey = process.env["OPENAI_API_KEY"]?.trim() || undefined;
  const model = process.env["PROVISO_MODEL"]?.trim() || "gpt-5.4";
  let adapter: ProviderAdapter;
  if (apiKey === undefined) {
    const simulator = stack.use(await startSimulator({ rules: [simulatedFriend], keepRequests: false }));
    adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none", maxOutputTokens: 1_000 });
  } else {
    adapter = openai({ model, apiKey, maxOutputTokens: 4_000 });
  }
  const who = apiKey === undefined ? "No OPENAI_API_KEY: a simulation answers" : `${model} answers`;
  const server = chatServer({ adapter, store, onError: (error) => console.error(`chat-server: ${String(error)}`) });
  server.listen(Number(port), "127.0.0.1");
  await once(server, "listening");
  const { port: listens } = server.address() as AddressInfo;
  console.log(`${who}. Conversations are in ${file}. Open http://127.0.0.1:${listens}`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  server.close();
  // What is still being answered is aborted: its turn is not saved.
  server.closeAllConnections();
} catch (error) {
  const known = error instanceof ProvisoError || error instanceof TypeError || (error as { code?: unknown }).code;
  if (known === false || known === undefined) throw error;
  console.error(`chat-server: ${(error as Error).message}`);
  process.exitCode = 1;
}
