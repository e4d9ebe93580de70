import {
  allow,
  definePolicy,
  defineSlice,
  deny,
  Filesystem,
  type PolicyDecision,
  type Tool,
  type ToolContext,
  type ToolPolicy,
} from "@proviso/core";

/** Denies a tool until each of `after` has succeeded in this session; a failed call, or one undone, does not count. */
export function sequentialDependency(options: {
  readonly tool: Tool;
  readonly after: readonly Tool[];
  /** Default: made of the tools' names. */
  readonly name?: string | undefined;
}): ToolPolicy {
  const { tool, after, name = `${tool.name}-after-${after.map((other) => other.name).join("-")}` } = options;
  const succeeded = defineSlice({
    name: `toolkit.succeeded.${name}`,
    initial: [] as readonly string[],
    reducers: ({ on }) => {
      for (const other of after) {
        on(other, (names, { result }) => {
          if (result.success && !names.includes(other.name)) names.push(other.name);
        });
      }
    },
  });
  return definePolicy({
    name,
    tools: [tool],
    slices: [succeeded],
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
 */
export function readBeforeWrite(options: {
  readonly read: readonly Tool[];
  readonly write: readonly Tool[];
  readonly pathOf?: ((input: unknown) => string | undefined) | undefined;
}): ToolPolicy {
  const { read, write, pathOf = pathProperty } = options;
  const readPaths = defineSlice({
    name: `toolkit.read-paths.${write.map(({ name }) => name).join("-")}`,
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
  });
  return definePolicy({
    name: "read-before-write",
    tools: write,
    slices: [readPaths],
    async check({ tool, input }, { session, resources }) {
      const path = pathOf(input);
      if (path === undefined || session.get(readPaths).includes(normalPath(path))) return allow();
      const files = resources.find(Filesystem);
      if (files !== undefined && !(await files.exists(path))) return allow();
      const readers = read.map(({ name }) => name).join(" or ");
      return deny(`Read ${path} with ${readers} before ${tool.name} changes it.`);
    },
  });
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

/** What a person, or a program in its place, says of a call. */
export type Approval =
  | { readonly approved: true; /** In place of the model's arguments. */ readonly input?: unknown }
  | { readonly approved: false; readonly reason?: string | undefined };

/** What is asked for: `signal` fires when nobody waits for the answer any more. */
export interface ApprovalRequest {
  readonly tool: Tool;
  readonly input: unknown;
  readonly callId: string;
  readonly signal: AbortSignal;
}

/**
 * Asks before a tool runs: `evaluate(prompt, { policies: [requireApproval(ask)] })`. An answer that is none denies, and
 * so does an error; the wait ends with the evaluation.
 */
export function requireApproval(
  ask: (request: ApprovalRequest) => Approval | Promise<Approval>,
  options: { /** Left out: every tool that is not read-only. */ readonly tools?: readonly Tool[] | undefined } = {},
): ToolPolicy {
  const { tools } = options;
  return definePolicy({
    name: "require-approval",
    ...(tools === undefined ? {} : { tools }),
    async check({ tool, input }, { callId, signal }: ToolContext): Promise<PolicyDecision> {
      if (tools === undefined && tool.readOnly === true) return allow();
      const approval: Approval | undefined = await ask({ tool, input, callId, signal });
      if (approval?.approved === true) return allow(approval.input);
      const why = approval?.reason === undefined ? "" : `: ${approval.reason}`;
      return deny(`${tool.name} was not approved${why}.`);
    },
  });
}
