import {
  defineEvent,
  definePrompt,
  defineSlice,
  type Binding,
  type EvaluateOptions,
  type Filesystem,
  type Message,
  type PromptResponse,
  type Session,
  type Slice,
  type Tool,
  type ToolMessage,
  type ToolPolicy,
} from "@proviso/core";
import { contentHash } from "@proviso/core/internal";
import { modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type FakeClock } from "@proviso/runtime/testing";
import fc from "fast-check";
import { z } from "zod";

// The same cases in every run; another seed finds others.
fc.configureGlobal({ seed: 20_261_121, numRuns: 100 });

export { fc };

export const noted = defineEvent("noted", z.object({ text: z.string() }));
/** What was noted, in order. */
export const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
/** The same, kept whatever happens. */
export const journal = defineSlice({
  name: "journal",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => draft.push(text)),
});

export interface Parts {
  readonly tools?: readonly Tool[];
  readonly policies?: readonly ToolPolicy[];
  readonly resources?: readonly Binding[];
  readonly slices?: readonly Slice[];
}

/** A prompt with one section that has these. */
export function promptOf(parts: Parts = {}, key = "prompt") {
  const { tools = [], slices = [notes], ...rest } = parts;
  return definePrompt({
    ns: "tests",
    key,
    sections: [
      { key: "guide", text: "Work.", tools, slices, ...rest },
      { key: "request", text: "Begin.", role: "user" },
    ],
  }).bind({});
}

export interface Call {
  readonly name: string;
  readonly arguments?: object | string | undefined;
  readonly id?: string | undefined;
}

/** The time, ids and randomness of a test. */
function environment(): { readonly clock: FakeClock } & AdapterOptions {
  return fakeEnvironment();
}

/** Evaluates a prompt whose model asks for these calls, all in one turn, and then answers. */
export function evaluateCalls(
  prompt: ReturnType<typeof promptOf>,
  calls: readonly Call[],
  options: EvaluateOptions = {},
  adapter: AdapterOptions = environment(),
): Promise<PromptResponse<string>> {
  return modelAdapter(scriptedModel([{ toolCalls: calls }, { text: "done" }]), adapter).evaluate(prompt, options);
}

export function toolMessages(messages: readonly Message[]): readonly ToolMessage[] {
  return messages.filter((message) => message.role === "tool");
}

/** Everything there is in a filesystem, as one hash. */
export async function digestOf(filesystem: Filesystem): Promise<string> {
  return contentHash(await treeOf(filesystem, ""));
}

async function treeOf(filesystem: Filesystem, folder: string): Promise<unknown> {
  const entries = await filesystem.list(folder);
  return Promise.all(
    entries.map(async ({ name, kind }) => {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (kind === "directory") return [path, await treeOf(filesystem, path)];
      return [path, Buffer.from(await filesystem.readBytes(path)).toString("hex")];
    }),
  );
}

/** The state of these slices, as one hash. */
export function digestOfState(session: Session, ...slices: readonly Slice[]): string {
  return contentHash(slices.map((slice) => session.get(slice)));
}

/** What it rejects with. */
export async function rejectionOf(promise: PromiseLike<unknown>): Promise<Error & Record<string, unknown>> {
  return promise.then(
    () => {
      throw new Error("It did not reject.");
    },
    (error: unknown) => error as Error & Record<string, unknown>,
  );
}

/** What it throws. */
export function thrownBy(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error("It did not throw.");
}
