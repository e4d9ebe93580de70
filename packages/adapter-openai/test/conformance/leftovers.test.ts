import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { fromSources } from "../../../../scripts/from-sources.ts";

const program = `
  import { openai } from "@proviso/adapter-openai";
  import { deadlineIn, definePrompt } from "@proviso/core";
  import { startSimulator } from "@proviso/simulator";

  process.on("unhandledRejection", () => console.log("unhandled"));
  const prompt = definePrompt({ key: "leftovers", text: "Hi." }).bind();
  const text = "Once upon a time. ".repeat(20);
  const codes = [];
  for (const api of ["responses", "chat"]) {
    const evaluate = async (steps, options, way) => {
      const simulator = await startSimulator({ steps });
      const adapter = openai({ model: "m", api, baseURL: simulator.baseURL, apiKey: "sk-leftovers-0123", random: () => 0 });
      const deadline = deadlineIn(options.ms ?? 120_000);
      const asked = way(adapter, { deadline, signal: options.signal });
      codes.push(await asked.then(() => "answered", (error) => error.code));
      await simulator.close();
    };
    const once = (adapter, options) => adapter.evaluate(prompt, options);
    const left = async (adapter, options) => {
      const stream = adapter.stream(prompt, options);
      for await (const event of stream) if (event.type === "text.delta") break;
      return stream.response;
    };
    await evaluate([{ text }], {}, once);
    await evaluate([{ text, fault: "reset_in_body" }], {}, once);
    await evaluate([{ status: 400, body: {} }], {}, once);
    await evaluate([{ text, fault: "hang" }], { ms: 100 }, once);
    await evaluate([{ text, fault: "hang" }], { signal: AbortSignal.timeout(100) }, once);
    await evaluate([{ text, eventMs: 20 }], {}, left);
    // Without a deadline that could be there before the first delta is.
    await evaluate([{ text, fault: "stream_stalls" }], {}, left);
  }
  console.log(codes.join(" "), Object.keys(Object.prototype).length);
`;

test(
  "SEC-3 nothing is left that keeps a program alive, whatever its evaluations came to",
  { timeout: 1_800_000 },
  async () => {
    const args = [...fromSources, "--input-type=module", "-e", program];
    const options = { cwd: join(import.meta.dirname, "../.."), timeout: 300_000 };
    // Rejects when the program is still there after its timeout: deadlines of two minutes, say, would keep it.
    const { stdout } = await promisify(execFile)(process.execPath, args, options);
    const codes = "answered answered provider deadline aborted aborted aborted";
    expect(stdout.trim()).toBe(`${codes} ${codes} 0`);
  },
);
