import {
  allow,
  DefinitionError,
  definePolicy,
  defineSlice,
  deny,
  Filesystem,
  FilesystemError,
  suspend,
  type DefinedPolicy,
  type PolicyDecision,
  type Resources,
  type Slice,
  type Tool,
} from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { checkTools } from "./check-tools.ts";

/**
 * Denies a tool until each of `after` has succeeded in this session; a failed call, or one undone, does not count.
 * @throws {DefinitionError} for what defineTool did not make.
 */
export function sequentialDependency(options: {
  readonly tool: Tool;
  readonly after: readonly Tool[];
  /**
   * The name of the policy. Default: made of the tools' names. Two of one name and different tools cannot share a
   * session.
   */
  readonly name?: string | undefined;
}): DefinedPolicy {
  checkOptionNames("sequentialDependency", options, { tool: true, after: true, name: true });
  checkTools("sequentialDependency", { tool: [options?.tool], after: options?.after });
  const { tool, after, name = `${tool.name}-after-${after.map((other) => other.name).join("-")}` } = options;
  const succeeded = namesOf(succeededSlices, [name, ...namesIn(after)], () =>
    defineSlice({
      name: `toolkit.succeeded.${name}`,
      initial: [] as readonly string[],
      reducers: ({ on }) => {
        for (const other of after) {
          on(other, (names, { result }) => {
            if (result.success && !names.includes(other.name)) names.push(other.name);
          });
        }
      },
    }),
  );
  return definePolicy({
    name,
    tools: [tool],
    slices: [succeeded],
    uses: [],
    check(_, { session }) {
      const missing = after.filter((other) => !session.get(succeeded).includes(other.name));
      if (missing.length === 0) return allow();
      return deny(`Call ${missing.map((other) => other.name).join(", then ")} first; ${tool.name} comes after.`);
    },
  });
}

/**
 * Denies to change a file that was not read in this session. Files that do not exist yet are free. Paths are compared
 * as the filesystem sees them: `./a//b` is `a/b`. Tools take their path as `path`, unless `pathOf` says otherwise.
 * @throws {DefinitionError} for what is no list of tools.
 */
export function readBeforeWrite(options: {
  readonly read: readonly Tool[];
  readonly write: readonly Tool[];
  /** Made once: policies with the same tools and the same function remember together. */
  readonly pathOf?: ((input: unknown) => string | undefined) | undefined;
}): DefinedPolicy {
  checkOptionNames("readBeforeWrite", options, { read: true, write: true, pathOf: true });
  checkTools("readBeforeWrite", { read: options?.read, write: options?.write });
  const { read, write, pathOf = pathProperty } = options;
  const [readers, writers] = [namesIn(read).join("-"), namesIn(write).join("-")];
  const readPaths = namesOf(sliceMapOf(pathOf), [readers, writers], () =>
    defineSlice({
      name: `toolkit.read-paths.${readers}.${writers}`,
      initial: [] as readonly string[],
      reducers: ({ on }) => {
        for (const tool of [...read, ...write]) {
          on(tool, (paths, { params, result }) => {
            const path = result.success ? pathOf(params) : undefined;
            const normal = path === undefined ? undefined : normalPath(path);
            if (normal !== undefined && !paths.includes(normal)) paths.push(normal);
          });
        }
      },
    }),
  );
  return definePolicy({
    name: "read-before-write",
    tools: write,
    slices: [readPaths],
    async check({ tool, input }, { session, resources }) {
      const path = pathOf(input);
      if (path === undefined || session.get(readPaths).includes(normalPath(path))) return allow();
      const files = await boundFilesystem(resources);
      if (files !== undefined && !(await files.exists(path))) return allow();
      const entries = await entriesOf(files, path);
      if (entries === 0) return allow();
      if (entries !== undefined) return deny(`${path} is a folder: take its files one by one, each after it was read.`);
      return deny(`Read ${path} with ${namesIn(read).join(" or ")} before ${tool.name} changes it.`);
    },
  });
}

/** undefined: none is bound. */
async function boundFilesystem(resources: Resources): Promise<Filesystem | undefined> {
  try {
    return resources.find(Filesystem);
  } catch {
    // The filesystem is bound, and its factory is asynchronous.
    return resources.open(Filesystem);
  }
}

/** How many a folder has; undefined: it is none. */
async function entriesOf(files: Filesystem | undefined, path: string): Promise<number | undefined> {
  try {
    return (await files?.list(path))?.length;
  } catch (error) {
    if (error instanceof FilesystemError) return undefined;
    throw error;
  }
}

type NamesSlice = Slice<readonly string[]>;

const succeededSlices = new Map<string, NamesSlice>();
const readPathsSlices = new WeakMap<object, Map<string, NamesSlice>>();

/** What the same tools did is one slice, however many prompts of a session have such a policy. */
function namesOf(known: Map<string, NamesSlice>, of: readonly string[], make: () => NamesSlice): NamesSlice {
  const key = JSON.stringify(of);
  const slice = known.get(key) ?? make();
  known.set(key, slice);
  return slice;
}

function sliceMapOf(pathOf: object): Map<string, NamesSlice> {
  const slices = readPathsSlices.get(pathOf) ?? new Map<string, NamesSlice>();
  readPathsSlices.set(pathOf, slices);
  return slices;
}

function namesIn(tools: readonly Tool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

function pathProperty(input: unknown): string | undefined {
  const path: unknown = typeof input === "object" && input !== null && "path" in input ? input.path : undefined;
  return typeof path === "string" ? path : undefined;
}

function normalPath(path: string): string {
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");
}

/** The answer of a person, or of a program in its place, to the question about a call. */
export type Approval =
  | { readonly approved: true; /** Replaces the model's arguments. */ readonly input?: unknown }
  | {
      readonly approved: false;
      /** Why not; the model reads it. */
      readonly reason?: string | undefined;
    }
  | {
      /** The question that is to be decided later: the run is suspended, see `suspend`. */
      readonly later: string;
      /** Milliseconds after which it counts as denied. Left out: it waits for as long as it takes. */
      readonly expiresInMs?: number | undefined;
    };

/** A call that waits for its approval. */
export interface ApprovalRequest {
  /** The tool that was called. */
  readonly tool: Tool;
  /** Validated and frozen: what is approved is what runs. */
  readonly input: unknown;
  /** The id of the call. */
  readonly callId: string;
  /** Aborts when the answer is not needed any more. */
  readonly signal: AbortSignal;
}

/**
 * Asks before a tool runs: `evaluate(prompt, { policies: [requireApproval(ask)] })`. An answer that is not an Approval,
 * or has a key that none has, denies, and so does an error; the wait ends with the evaluation. While the answer is pending, no lock is held and the
 * tool's `timeoutMs` does not run. The checks of all policies run before the question, and again on the input that was
 * approved.
 * @example
 * ```ts
 * import { requireApproval } from "@proviso/toolkit";
 *
 * const approval = requireApproval(({ tool }) => ({ approved: tool.name !== "remove_file" }));
 * // An evaluation asks it before each call: adapter.evaluate(prompt, { policies: [approval] }).
 * console.log(approval.name); // require-approval
 * ```
 */
export function requireApproval(
  ask: (request: ApprovalRequest) => Approval | Promise<Approval>,
  options: {
    /** The tools that are asked about. Left out: every tool that is not read-only. */
    readonly tools?: readonly Tool[] | undefined;
  } = {},
): DefinedPolicy {
  checkOptionNames("requireApproval", options, { tools: true });
  if (typeof ask !== "function")
    throw new DefinitionError(`requireApproval needs a function that is asked, not ${describeValue(ask)}.`);
  const { tools } = options;
  return definePolicy({
    name: "require-approval",
    ...(tools === undefined ? {} : { tools }),
    async approve({ tool, input }, { callId, signal }): Promise<PolicyDecision> {
      if (tools === undefined && tool.readOnly === true) return allow();
      const approval: Approval = (await ask({ tool, input, callId, signal })) ?? { approved: false };
      assertApproval(approval);
      if ("later" in approval) {
        const { later, expiresInMs } = approval;
        return suspend(later, { expiresInMs });
      }
      if (approval.approved === true) return allow(approval.input);
      const why = approval.reason?.trim().replace(/[.]+$/u, "");
      return deny(why ? `${tool.name} was not approved: ${why}.` : `${tool.name} was not approved.`);
    },
  });
}

const answerNames: readonly string[] = ["approved", "input", "reason", "later", "expiresInMs"];

/**
 * The call is denied then, and the model and the log read why. Arguments that a person changed under another name would
 * be lost, and the call that was not wanted would run.
 * @throws {DefinitionError} for `true`, a text and the like, and for a key that no answer has.
 */
function assertApproval(answer: unknown): void {
  const isObject = typeof answer === "object" && answer !== null;
  const unknown = isObject
    ? Object.entries(answer).find(([key, value]) => value !== undefined && !answerNames.includes(key))?.[0]
    : undefined;
  if (isObject && unknown === undefined) return;
  throw new DefinitionError(
    `requireApproval was answered with ${describeValue(unknown ?? answer)}: it takes { approved: true, input }, { approved: false, reason } or { later: question, expiresInMs }.`,
  );
}
