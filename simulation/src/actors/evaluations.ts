import {
  definePrompt,
  defineTool,
  toolError,
  type Prompt,
  type ProviderAdapter,
  type Session,
  type Tool,
  type ToolContext,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";
import { randomPolicies } from "./approvals.ts";
import type { Operation, Store } from "./record.ts";
import { firstDay, forged, type CellKey, type Stage } from "./stage.ts";
import type { Worker } from "./steps.ts";

/** Where an evaluation stands. */
export interface Place {
  readonly session: Session;
  readonly parent: Operation | undefined;
  readonly depth: number;
  readonly readOnly: boolean;
  readonly isInBody: boolean;
  /** What its tools may use. */
  readonly keys: readonly CellKey[];
  /** One call of a tool that uses all of these and writes. */
  readonly usesAll?: boolean;
  /** Somebody may have to approve its calls. */
  readonly watched?: boolean;
  /** What its handlers do. */
  work(stage: Stage, worker: Worker): Promise<void>;
}

// JSON has no dates: it comes of a transform, or of a policy that gives the Date which it got.
const date = z.unknown().transform((given) => (given instanceof Date ? given : new Date(String(given))));
const inputs = z.object({ operation: z.string(), load: z.object({ amount: z.number().max(9), at: date }) });
export interface Evaluation {
  readonly prompt: Prompt;
  readonly adapter: ProviderAdapter;
}

/** Some turns of some calls, each of a tool that says, or does not say, what it uses. */
export function createEvaluation(stage: Stage, place: Place): Evaluation {
  const { random, environment, record } = stage;
  const { parent, usesAll = false } = place;
  const name = `e${record.operations().length}`;
  const tools = Array.from({ length: usesAll ? 1 : 1 + random.int(2) }, (_, at) =>
    randomTool(stage, place, `${name}-${at}`),
  );
  const turns = Array.from({ length: usesAll ? 1 : 1 + random.int(2) }, () => ({
    afterMs: usesAll ? 0 : random.pick([0, 0, 10, 50]),
    toolCalls: Array.from({ length: usesAll ? 1 : 1 + random.int(3) }, () => {
      const tool = random.pick(tools);
      const isFree = tool.uses?.length === 0 && tool.readOnly !== true;
      const operation = record.begin(parent, {
        overlaps: isFree ? name : undefined,
        readOnly: place.readOnly || tool.readOnly === true,
      });
      return {
        name: tool.name,
        id: operation.id,
        arguments: { operation: operation.id, load: { amount: 1, at: firstDay } },
      };
    }),
  }));
  const prompt = definePrompt({
    ns: "stage",
    key: name,
    sections: [{ key: "work", text: "Work.", tools }],
    policies: place.watched === true ? randomPolicies(stage) : [],
  }).bind() as Prompt;
  const model = scriptedModel([...turns, { text: "done" }], { clock: environment.clock });
  return { prompt, adapter: modelAdapter(model, environment) };
}

function randomTool(stage: Stage, place: Place, name: string): Tool {
  const { random, orderly } = stage;
  const { keys, usesAll = false } = place;
  const readOnly = place.readOnly || (!usesAll && random.chance(0.25));
  const kind = usesAll ? 0 : random.int(10);
  const some = keys.filter(() => random.chance(0.6));
  // What is bound lazily is used late by a tool that names it, too.
  const uses = usesAll || kind < 4 ? (usesAll ? keys : some) : kind < 5 ? [] : undefined;
  const timeoutMs = !usesAll && random.chance(0.1) ? 100 : undefined;
  const holdsAll = !readOnly && uses === undefined;
  return defineTool({
    name,
    description: "Works.",
    input: inputs,
    ...(readOnly ? { readOnly } : {}),
    ...(uses === undefined ? {} : { uses }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async execute({ operation: id, load }, context) {
      const operation = stage.record.operation(id) as Operation;
      // Its time or a limit is up, its handler has failed, or it is over.
      context.signal.addEventListener("abort", () => (operation.failing ||= !operation.finished), { once: true });
      stage.note(
        `${id} begins${operation.parent === undefined ? "" : ` in ${operation.parent.id}`}${operation.readOnly ? ", reading" : ""}, uses ${uses?.map((key) => key.name).join() ?? "all"}`,
      );
      stage.book.demand(!stage.denied.has(id), `TOOL-10 ${id} runs although a policy denied it`);
      checkInput(stage, id, { operation: id, load });
      const checked = stage.checked.get(id);
      stage.book.demand((checked ?? context.session) === context.session, `TOOL-10 ${id} was not checked again`);
      await place.work(
        stage,
        workerOf(stage, place, operation, { context: context as ToolContext, keys: uses ?? keys, holdsAll }),
      );
      const end = usesAll || orderly ? 9 : random.int(10);
      if (end === 0) throw new Error("on purpose");
      if (end === 1) return toolError("on purpose");
      if (end === 2 && timeoutMs !== undefined) await stage.environment.clock.sleep(150);
      operation.finished = true;
      return id;
    },
  }) as unknown as Tool;
}

/** TOOL-14: what was approved is what runs. */
function checkInput(
  { book, approved }: Stage,
  id: string,
  input: { readonly operation: string; readonly load: { readonly amount: number; readonly at: Date } },
): void {
  const { amount, at } = input.load;
  book.demand(
    amount !== forged && at.getTime() !== forged,
    `TOOL-14 ${id} runs with an input that somebody has changed`,
  );
  const known = approved.get(id);
  if (known !== undefined)
    book.demand(
      known === JSON.stringify(input),
      `TOOL-14 ${id} runs with ${JSON.stringify(input)} instead of ${known}`,
    );
}

function workerOf(
  stage: Stage,
  { session, depth, isInBody }: Place,
  operation: Operation,
  {
    context,
    keys,
    holdsAll,
  }: { readonly context: ToolContext; readonly keys: readonly CellKey[]; readonly holdsAll: boolean },
): Worker {
  const { signal } = context;
  return {
    operation,
    view: context.session,
    session,
    store: stage.sessions.get(session) as Store,
    keys,
    holdsAll,
    isInBody,
    kind: "handler",
    depth,
    signal,
    open: (key) =>
      context.resources.open(key).catch((error: unknown) => {
        const { message } = error as Error;
        const isLost = message.includes("came after the end") && !signal.aborted && !operation.ended;
        stage.book.demand(!isLost, `TX-4 ${operation.id} does not get what it waited for: ${message}`);
        throw error;
      }),
    evaluate: ({ prompt, adapter }, given) =>
      context.evaluate(prompt, { adapter, ...(given === undefined ? {} : { resources: given }) }),
  };
}
