import type { RunQuery } from "@proviso/core";
import { flag, oneOf, readArguments, text, wholeNumber } from "./read-arguments.ts";
import { shown, UsageError } from "./usage.ts";

export const runsHelp = `proviso runs <command>: the runs that a journal holds

  list             the newest runs
  show RUN         what a run did, line by line, and what it came to
  diff RUN RUN     the step at which two runs part; exits 1 where they do
  replay RUN PROMPT    a recorded run through the code of today: file.ts, file.ts#name or file.md; no model is asked, no
                   tool runs unless --tools says so; exits 1 at the first difference

  --runs PATH      the journal: a file or a folder. Default .proviso/runs.db
  --json           one JSON document instead of lines
  --help

For replay:
  --tools WHICH    recorded (default): calls are answered from the record; run: tools and policies run again, and have to
                   come to the same. What they do outside of the session is done again

For list:
  --text TEXT      part of a name, an id, an error's message or the answer
  --status STATUS  running, executed, failed, suspended or stopped
  --prompt NS/KEY  --model MODEL  --tool TOOL  --session ID
  --undone         with at least one call that was undone
  --order ORDER    newest (default), oldest, slowest or costliest
  --limit N        1 to 500, default 50

Example: proviso runs list --status failed --undone

Exit codes: 0 done; 1 there is no such run, or two runs differ, or a replay; 2 wrong usage, or no journal.`;

const commands = ["list", "show", "diff", "replay"] as const;
const statuses = ["running", "executed", "failed", "suspended", "stopped"] as const;
const orders = ["newest", "oldest", "slowest", "costliest"] as const;

const replayedTools = ["recorded", "run"] as const;

/** What a command line asks for. */
export interface RunsRequest {
  readonly command: (typeof commands)[number];
  readonly ids: readonly string[];
  /** undefined: that of the config. */
  readonly path: string | undefined;
  readonly isJson: boolean;
  /** Whether a replay runs tools and policies again. */
  readonly runsTools: boolean;
  readonly query: RunQuery;
}

const forAll = { runs: text, json: flag, help: flag } as const;
const forList = {
  text,
  status: text,
  prompt: text,
  model: text,
  tool: text,
  session: text,
  undone: flag,
  order: text,
  limit: text,
} as const;
const options = { ...forAll, ...forList, tools: text };

/** @throws {UsageError} for an unknown command, flag or value, and for too many or too few arguments. */
export function readRunsArguments(args: readonly string[]): RunsRequest | "help" {
  const { values, positionals } = readArguments(args, options);
  if (values.help === true) return "help";
  const [name, ...ids] = positionals;
  const command = oneOf("runs takes", name ?? "nothing", commands);
  const wanted = { list: 0, show: 1, diff: 2, replay: 2 }[command];
  if (ids.length !== wanted) {
    const takes = {
      list: "no argument",
      show: "the id of one run",
      diff: "the ids of two runs",
      replay: "the id of a run and the prompt that it is checked against",
    }[command];
    throw new UsageError(`runs ${command} takes ${takes}, not ${ids.length === 0 ? "none" : ids.map(shown).join(" ")}`);
  }
  const { status, order, limit, prompt: promptName, session: sessionId } = values;
  const others = Object.keys(values).find((given) => Object.hasOwn(forList, given));
  if (command !== "list" && others !== undefined) throw new UsageError(`--${others} is for runs list`);
  if (command !== "replay" && values.tools !== undefined) throw new UsageError("--tools is for runs replay");
  const tools = values.tools === undefined ? "recorded" : oneOf("--tools takes", values.tools, replayedTools);
  const query: RunQuery = {
    text: values.text,
    promptName,
    model: values.model,
    tool: values.tool,
    sessionId,
    undone: values.undone,
    status: status === undefined ? undefined : oneOf("--status takes", status, statuses),
    order: order === undefined ? undefined : oneOf("--order takes", order, orders),
    limit: limit === undefined ? undefined : wholeNumber("--limit", limit, 1, 500),
  };
  return { command, ids, path: values.runs, isJson: values.json === true, runsTools: tools === "run", query };
}

/** Returns the error of an id that no run has, with the message of the journal. */
export function noRun(id: string): { readonly code: string; readonly message: string } {
  return { code: "not_found", message: `There is no run "${id}".` };
}
