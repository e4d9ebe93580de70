// The recorded runs: what each is asked, who plays the model, and what a replay of it is given.
import {
  allow,
  Filesystem,
  provide,
  RunError,
  type Binding,
  type EvaluateOptions,
  type Message,
  type PromptResponse,
  type PromptTemplate,
  type ProviderAdapter,
  type ToolPolicy,
} from "@proviso/core";
import type { Journal } from "@proviso/journal";
import { sqliteResource } from "@proviso/node";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import type { SimulatorRule } from "@proviso/simulator";
import { optimize, requireApproval } from "@proviso/toolkit";
import { DatabaseSync } from "node:sqlite";
import { releasePrompt, simulatedRelease } from "../approval/release.ts";
import { review } from "../code-review/review-prompt.ts";
import { simulatedReviewer } from "../code-review/simulated-reviewer.ts";
import { runbook } from "../incident-runbook/runbook.ts";
import { simulatedDuty } from "../incident-runbook/simulated-duty.ts";
import { deskPrompt } from "../refund-desk/prompt.ts";
import { schema as shopSchema } from "../refund-desk/shop.ts";
import { simulatedClerk } from "../refund-desk/simulated-clerk.ts";
import { taskPrompt } from "../task-agent/chat.ts";
import { simulatedAssistant } from "../task-agent/simulated-assistant.ts";
import { schema as taskSchema } from "../task-agent/tasks.ts";
import { maintainer } from "../workspace-digest/prompt.ts";
import { simulatedExplorer } from "../workspace-digest/simulated-explorer.ts";

/** A run, or several that follow each other. */
export interface Golden {
  /** Plays the model. */
  readonly rule: SimulatorRule;
  /** The runs by id, in the order in which they are recorded, and what a replay of each is given. */
  readonly replays: Readonly<Record<string, Replayable>>;
  /** Evaluates them, each as the run of its id. */
  record(adapter: ProviderAdapter, journal: Journal): Promise<void>;
}

/** What a replay of a run is given. */
export interface Replayable {
  readonly prompt: PromptTemplate<never, unknown>;
  readonly policies?: readonly ToolPolicy[];
  /** New resources, for a replay whose tools run again. undefined: they cannot, because they would need what earlier runs did. */
  readonly resources?: (() => readonly Binding[]) | undefined;
}

/** What the demo reviews here. It has something of each kind to find, and a file for which no test exists. */
export const reviewed = {
  "src/queue.ts": "export function take(queue: any) {\n  // TODO: what if it is empty?\n  return queue.shift();\n}\n",
  "src/log.ts": "/** Prints. */\nexport function log(text: string): void {\n  console.log(text);\n}\n",
  "src/load.ts": "try {\n  take([]);\n} catch {}\n",
  "README.md": "A queue.\n",
};
const workspace = {
  "package.json": '{\n  "name": "queue",\n  "description": "A queue for jobs."\n}\n',
  "src/queue.ts": reviewed["src/queue.ts"],
};
const folder = (files: Readonly<Record<string, string>>) => () => [provide(Filesystem, memoryFilesystem(files))];

const alert = "db-1 refuses writes, disk full; the replica db-2 lags and stopped streaming.";
const onCall = runbook(() => ({ approved: true }));
const release = releasePrompt(() => {});
const approved = [requireApproval(() => ({ approved: true, input: { version: "1.4", to: "staging" } }))];
const desk = deskPrompt(604_800_000);
const said = ["add: buy milk", "list", "done with 1", "archive 1"];

export const goldens: Readonly<Record<string, Golden>> = {
  "code-review": {
    rule: simulatedReviewer,
    replays: { "code-review": { prompt: review, resources: folder(reviewed) } },
    async record(adapter, journal) {
      const prompt = review.bind({ request: "Review the code." });
      await adapter.evaluate(prompt, { run: journal.run("code-review"), resources: folder(reviewed)() });
    },
  },
  "incident-runbook": {
    rule: simulatedDuty,
    replays: { "incident-runbook": { prompt: onCall, resources: () => [] } },
    async record(adapter, journal) {
      await adapter.evaluate(onCall.bind({ alert }), { run: journal.run("incident-runbook") });
    },
  },
  approval: {
    rule: simulatedRelease,
    replays: { approval: { prompt: release, policies: approved, resources: () => [] } },
    async record(adapter, journal) {
      await adapter.evaluate(release.bind(), { run: journal.run("approval"), policies: approved });
    },
  },
  "task-agent": {
    rule: simulatedAssistant,
    // Later turns need the tasks of the first.
    replays: Object.fromEntries(
      said.map((_, turn) => {
        const resources = turn === 0 ? () => [sqliteResource(":memory:", { migrate: taskSchema })] : undefined;
        return [`task-agent-${turn + 1}`, { prompt: taskPrompt, resources }];
      }),
    ),
    async record(adapter, journal) {
      const session = createSession({ slices: taskPrompt.slices });
      const database = new DatabaseSync(":memory:");
      const resources = [sqliteResource(database, { migrate: taskSchema })];
      let messages: readonly Message[] = [];
      for (const [turn, text] of said.entries()) {
        const run = journal.run(`task-agent-${turn + 1}`);
        const options: EvaluateOptions = { run, session, messages, resources };
        const response: PromptResponse<string> = await adapter.evaluate(taskPrompt.bind({ text }), options);
        messages = response.messages;
      }
    },
  },
  "workspace-digest": {
    rule: simulatedExplorer,
    replays: {
      "workspace-explored": { prompt: maintainer, resources: folder(workspace) },
      "workspace-known": { prompt: maintainer, resources: folder(workspace) },
    },
    async record(adapter, journal) {
      const session = createSession();
      const resources = folder(workspace)();
      const prompt = maintainer.bind();
      await adapter.evaluate(prompt, { run: journal.run("workspace-explored"), resources });
      await optimize(adapter, prompt, { session, resources });
      await adapter.evaluate(prompt, { run: journal.run("workspace-known"), session, resources });
    },
  },
  "refund-desk": {
    rule: simulatedClerk,
    replays: {
      "refund-desk": { prompt: desk, resources: () => [sqliteResource(":memory:", { migrate: shopSchema })] },
    },
    async record(adapter, journal) {
      const prompt = desk.bind({ mail: "My coat A-17 never came." });
      const evaluate = (): Promise<unknown> =>
        adapter.evaluate(prompt, {
          run: journal.run("refund-desk"),
          resources: [sqliteResource(":memory:", { migrate: shopSchema })],
        });
      const token = await evaluate().catch((error: unknown) => {
        if (error instanceof RunError && error.pending !== undefined) return error.pending.token;
        throw error;
      });
      await journal.resolve(token as string, allow());
      await evaluate();
    },
  },
};
