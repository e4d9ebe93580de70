import assert from "node:assert/strict";
import { realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { deadlineIn, ProvisoError, type Session, type Tool } from "@proviso/core";
import { connectMcp, mcpTools } from "@proviso/mcp";
import { createSession } from "@proviso/runtime";
import { findings, researchPrompt } from "./research.ts";
import { openServices } from "./services.ts";

const usualQuestion = "When was the lamp out, and why?";

try {
  const options = { question: { type: "string", default: usualQuestion } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  await research(values.question, await realpath(resolve(positionals[0] ?? join(import.meta.dirname, "logbook"))));
} catch (error) {
  const isPlain = error instanceof ProvisoError || (error as { code?: unknown }).code !== undefined;
  if (!isPlain || error instanceof assert.AssertionError) throw error;
  console.error(`research: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function research(question: string, folder: string): Promise<void> {
  await using services = await openServices(process.env["OPENAI_API_KEY"]?.trim() || undefined);
  // The server of npm, as a process of its own. It reads this folder and no other.
  const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/package.json");
  const server = { command: process.execPath, args: [join(dirname(manifest), "dist/index.js"), folder], cwd: folder };
  await using documents = await connectMcp(server);
  const tools = mcpTools(documents, { only: ["list_directory", "read_text_file"], trust: true });
  const named = (name: string): Tool => tools.find((tool) => tool.name === name) as Tool;
  const prompt = researchPrompt({
    list: named("list_directory"),
    read: named("read_text_file"),
    adapter: services.adapter,
  });
  console.log(`${question}\nAsked: ${services.about}.\n`);

  const session = createSession();
  const counts = shownWay(session, (line) => console.log(printable(line)));
  const { output, turns } = await services.adapter.evaluate(prompt.bind({ question }), {
    session,
    deadline: deadlineIn(600_000),
    budget: { maxTotalTokens: 1_000_000 },
    context: { window: services.window, keepTurns: 2, summary: { maxTokens: 400 } },
  });

  const quoted = session.get(findings).filter(({ quotes }) => quotes.length > 0);
  console.log(printable(`\n${output.answer}\nSources: ${output.sources.join(", ")}`));
  const { requests, refused, read } = counts;
  console.log(
    `\n${turns} turns, ${requests} requests (${refused} refused), ${read} documents read, ${quoted.length} with quotes that were checked.`,
  );
  // Each source is one of the documents that a checked quote is from.
  for (const source of output.sources)
    assert.ok(
      quoted.some(({ path }) => path === source),
      source,
    );
}

interface Counts {
  requests: number;
  /** Requests that a service did not answer. */
  refused: number;
  /** Documents that were read. */
  read: number;
}

/** Prints what a person wants to see of the way, and counts the rest. The session has the sub-evaluations' events, too. */
function shownWay(session: Session, print: (line: string) => void): Counts {
  const counts: Counts = { requests: 0, refused: 0, read: 0 };
  session.on("tool.invoked", ({ name, result }) => {
    if (name === "read_text_file") counts.read++;
    if (name !== "ask_document") return;
    if (!result.success) return print(`  refused: ${result.message}`);
    const { path, quotes } = result.value as { readonly path: string; readonly quotes: readonly string[] };
    print(`  asked ${path}: ${quotes.length === 0 ? "nothing" : quotes.length}`);
  });
  session.on("provider.responded", ({ route = [] }) => {
    const asked = route.filter(({ outcome }) => outcome !== "skipped");
    const refused = asked.filter(({ outcome }) => outcome !== "answered");
    const [first] = refused;
    if (counts.refused === 0 && first !== undefined)
      print(`  ${first.model} fails (${first.outcome}): the next one goes on with the same turn`);
    counts.requests += asked.length;
    counts.refused += refused.length;
  });
  session.on("history.compacted", ({ before, after, replaced, summarised }) => {
    const by = summarised ? "a summary" : "a note";
    print(`  about ${before} tokens of history became ${after}: ${replaced} messages gave way to ${by}`);
  });
  return counts;
}

/** A document's text may not command the terminal. */
function printable(text: string): string {
  return stripVTControlCharacters(text);
}
