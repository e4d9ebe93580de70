import {
  DefinitionError,
  definePrompt,
  isEvent,
  OutputParseError,
  overrideOf,
  PromptRenderError,
  ProvisoError,
  type BudgetTracker,
  type Budget,
  type Deadline,
  type EvaluateOptions,
  type FrameworkEvent,
  type OverridesStore,
  type Prompt,
  type PromptOverride,
  type PromptResponse,
  type ProviderAdapter,
  type Section,
  type Session,
} from "@proviso/core";
import { parseJson } from "@proviso/core/provider";
import { checkOverride, checkTag, messageOf, noUsage, sectionsIn } from "@proviso/core/internal";
import { createSession } from "@proviso/runtime";
import { z } from "zod";
import { isWorkspaceTool } from "./filesystem-tools.ts";
import { planning } from "./planning.ts";
import { clearWorkspaceDigest, isDigestSection, setWorkspaceDigest } from "./workspace-digest.ts";

/** Where a digest is kept: in the caller's session, or as an override that all sessions share. */
export type OptimizationScope = "session" | "global";

/** What `optimize` takes; the limits are those of `evaluate`. */
export interface OptimizeOptions {
  /** The caller's: gets the digest with scope "session", loses its copy with "global"; else untouched. */
  readonly session: Session;
  /** Where the digest is kept. Default "session". */
  readonly scope?: OptimizationScope | undefined;
  /** Used in the optimisation too; "global" needs store and tag. */
  readonly overrides?: { readonly store: OverridesStore; readonly tag?: string | undefined } | undefined;
  /**
   * Asked with the override that would be stored and the one that is stored, before scope "global" stores it. Where it is
   * not accepted, or `accept` rejects, nothing is stored, and the result says why. `notWorse` of `@proviso/evals` makes one. Default: stored.
   */
  readonly accept?: AcceptOverride | undefined;
  /** Runs in it, as it is; left out: in one of its own. */
  readonly optimizationSession?: Session | undefined;
  /** Resources of the evaluation, as `evaluate` takes them. */
  readonly resources?: EvaluateOptions["resources"];
  /** The latest moment at which the evaluation ends. Default: none. */
  readonly deadline?: Deadline | undefined;
  /** What the evaluation may spend. Default: no limit. */
  readonly budget?: Budget | BudgetTracker | undefined;
  /** Aborting it ends the evaluation. */
  readonly signal?: AbortSignal | undefined;
}

/** Decides whether an override may be stored. */
export type AcceptOverride = (
  candidate: PromptOverride,
  current: PromptOverride | undefined,
) => Promise<{ readonly accepted: boolean; readonly why: string }>;

/** What `optimize` answers with. */
export interface OptimizationResult {
  /** The response of the evaluation that wrote the digest. */
  readonly response: PromptResponse<{ readonly digest: string }>;
  /** The digest. */
  readonly digest: string;
  /** Where the digest is kept. */
  readonly scope: OptimizationScope;
  /** The key of the section that shows it. */
  readonly sectionKey: string;
  /** What `accept` decided. undefined: there was none to ask. */
  readonly acceptance: Awaited<ReturnType<AcceptOverride>> | undefined;
}

/**
 * Explores the workspace of a prompt once and keeps a digest of it for later evaluations.
 * @throws {PromptRenderError} of phase request, before anything is spent: the prompt lacks its digest section or its
 * workspace section, scope "global" lacks store or tag, or what is stored there could not be stored again.
 * @throws {OutputParseError} of phase response for an empty digest. And whatever `evaluate` rejects with.
 */
export async function optimize<Output>(
  adapter: ProviderAdapter,
  prompt: Prompt<Output>,
  options: OptimizeOptions,
): Promise<OptimizationResult> {
  const { scope = "session", session, overrides, optimizationSession, accept, ...limits } = options;
  const { inner, sectionKey, store } = await prepared(prompt, options).catch((error: unknown) => {
    if (!(error instanceof ProvisoError)) throw error;
    const spent = { usage: noUsage, messages: [], toolResults: [] } as const;
    const details = { phase: "request", promptName: prompt.template.name, cause: error, ...spent } as const;
    throw new PromptRenderError(error.message, details);
  });
  const own = optimizationSession ?? createSession();
  const given = { ...limits, session: own, ...(overrides === undefined ? {} : { overrides }) };
  const response = await withTextAnswers(own, () => adapter.evaluate(inner, given));
  const digest = response.output.digest.trim();
  if (digest === "") {
    const { usage, messages, toolResults, providerPayload } = response;
    const details = { phase: "response", usage, messages, toolResults, providerPayload } as const;
    throw new OutputParseError("The digest of the workspace is empty.", {
      ...details,
      promptName: response.promptName,
      rawText: response.text ?? "",
      issues: [{ path: "digest", message: "is empty" }],
    });
  }
  let acceptance: OptimizationResult["acceptance"];
  if (store === undefined) setWorkspaceDigest(session, sectionKey, digest);
  else acceptance = await persist({ ...store, accept }, prompt, sectionKey, digest, session);
  return Object.freeze({ response, digest, scope, sectionKey, acceptance });
}

interface GlobalStore {
  readonly store: OverridesStore;
  readonly tag: string;
}

interface Prepared {
  readonly inner: Prompt<{ readonly digest: string }>;
  /** Dotted path of the digest section. */
  readonly sectionKey: string;
  /** undefined: the session keeps the digest. */
  readonly store: GlobalStore | undefined;
}

/**
 * Checks everything that can be known to fail before any token is spent.
 * @throws {ProvisoError} for what is missing or does not fit.
 */
async function prepared<Output>(
  prompt: Prompt<Output>,
  { scope = "session", overrides, accept }: OptimizeOptions,
): Promise<Prepared> {
  const { template } = prompt;
  const sections = sectionsIn(template);
  const digest = sections.find(({ section }) => isDigestSection(section));
  const workspace = sections.find(({ section }) => section.tools?.some(isWorkspaceTool));
  const refuse = (what: string): never => {
    throw new DefinitionError(`The prompt "${template.name}" has no ${what}.`);
  };
  if (digest === undefined) return refuse("digest section: add workspaceDigest()");
  if (workspace === undefined) return refuse("workspace section: add filesystemTools()");
  const inner = innerPrompt(prompt, workspace, digest.section).bind();
  const sectionKey = digest.path;
  if (accept !== undefined && scope !== "global") {
    throw new DefinitionError('accept is asked before an override is stored: it needs the scope "global".');
  }
  if (scope !== "global") return { inner, sectionKey, store: undefined };
  if (overrides?.tag === undefined) {
    throw new DefinitionError('The scope "global" needs overrides with a store and a tag.');
  }
  const { store, tag } = overrides;
  checkTag(tag);
  const stored = await store.resolve(template.descriptor, tag);
  // What could not be stored afterwards is not paid for.
  checkOverride(withDigest(stored, prompt, tag, sectionKey, ""), template.descriptor);
  return { inner, sectionKey, store: { store, tag } };
}

/** The digest takes the section's place in what is stored already, where that is accepted. */
async function persist<Output>(
  { store, tag, accept }: GlobalStore & Pick<OptimizeOptions, "accept">,
  prompt: Prompt<Output>,
  path: string,
  digest: string,
  session: Session,
): Promise<OptimizationResult["acceptance"]> {
  const { template } = prompt;
  const stored = await store.resolve(template.descriptor, tag);
  const candidate = withDigest(stored, prompt, tag, path, digest);
  // The digest is paid for: it is in the result also where no decision came.
  const acceptance = await accept?.(candidate, stored).catch((error: unknown) => {
    return { accepted: false, why: `It could not be decided: ${messageOf(error)}` };
  });
  if (acceptance !== undefined && acceptance.accepted !== true) return acceptance;
  await store.upsert(template.descriptor, candidate);
  clearWorkspaceDigest(session, path);
  return acceptance;
}

function withDigest<Output>(
  stored: PromptOverride | undefined,
  { template }: Prompt<Output>,
  tag: string,
  path: string,
  digest: string,
): PromptOverride {
  const { sections, tools }: PromptOverride = stored ?? { tag, sections: {}, tools: {} };
  const hash = overrideOf(template, tag).sections[path]?.hash ?? "";
  // A digest is a text as it is: no placeholder in it.
  const text = digest.replaceAll("{{", "\\{{");
  return { tag, tools, sections: { ...sections, [path]: { ...sections[path], hash, text } } };
}

type Explored = PromptResponse<{ readonly digest: string }>;

/** A digest that came as plain text, from a model that wrote no JSON, is a digest too. */
async function withTextAnswers(session: Session, explore: () => Promise<Explored>): Promise<Explored> {
  const received: FrameworkEvent[] = [];
  const stop = session.on("*", (event) => {
    if (event.evaluationId !== undefined) received.push(event);
  });
  try {
    return await explore();
  } catch (error) {
    const digest = error instanceof OutputParseError ? textDigest(error.rawText) : undefined;
    const failed = received.findLast((event) => isEvent(event, "prompt.failed"));
    const ofIt = received.filter(({ evaluationId }) => evaluationId === failed?.evaluationId);
    const rendered = ofIt.find((event) => isEvent(event, "prompt.rendered"));
    const responded = ofIt.findLast((event) => isEvent(event, "provider.responded"));
    if (!(error instanceof OutputParseError) || digest === undefined) throw error;
    if (failed === undefined || rendered === undefined || responded === undefined) throw error;
    const { promptName, usage, messages, toolResults, providerPayload, rawText } = error;
    const { evaluationId, turns } = failed;
    const of = { evaluationId, turns, provider: rendered.adapter, model: rendered.model };
    const { finishReason } = responded;
    const answer = { text: rawText, output: { digest }, finishReason, providerPayload };
    return Object.freeze({ promptName, ...of, ...answer, usage, messages, toolResults });
  } finally {
    stop();
  }
}

/** undefined for what was meant to be JSON and is not the output. */
function textDigest(text: string): string | undefined {
  const parsed = parseJson(text.trim());
  if (parsed.ok) return typeof parsed.value === "string" ? parsed.value : undefined;
  return /^\s*($|[{[]|```json)/i.test(text) ? undefined : text.trim();
}

type PlacedSection = ReturnType<typeof sectionsIn>[number];

function innerPrompt<Output>(prompt: Prompt<Output>, { section, path }: PlacedSection, digest: Section<never>) {
  const { template } = prompt;
  const { tools = [], title = "Workspace" } = section;
  const readOnly = tools.filter((tool) => tool.readOnly === true);
  // What is bound and demanded around the section holds for its clone.
  const around = sectionsIn(template).filter((other) => path === other.path || path.startsWith(`${other.path}.`));
  const visibility = Object.fromEntries(around.map((other) => [other.path, "full" as const]));
  const rendered = prompt.render({ visibility });
  const policies = readOnly.slice(0, 1).flatMap(({ name }) => rendered.policiesOf(name));
  // The digest section keeps its key, because overrides name it; the others give way.
  const free = (key: string): string => (key === digest.key ? `${key}-of-optimization` : key);
  return definePrompt({
    ns: `${template.ns}.optimization`,
    key: `${template.key}-workspace-digest`,
    output: z.object({ digest: z.string().describe("the digest, as Markdown") }),
    policies,
    resources: rendered.resources,
    slices: template.slices,
    sections: [
      { key: free("goal"), title: "Goal", text: goal },
      { key: free("expectations"), title: "Expectations", text: expectations },
      planning({ key: free("planning") }),
      {
        key: free("workspace"),
        title,
        text: "Look at the workspace with these tools; you cannot change it.",
        tools: readOnly,
      },
      // The section has the prompt's texts; whether it is shown must not depend on params that are missing here.
      { ...digest, enabled: undefined, visibility: "full" } as Section,
      { key: free("request"), text: "Write the digest now.", role: "user" },
    ],
  });
}

const goal = `Write a digest of the workspace, so that whoever works in it later need not look again.`;
const expectations = `Say what the workspace is for, how it is laid out, the commands that build, test and run it, the conventions that its files follow, and what is dangerous to touch. Name paths. Say only what you saw. Keep it under 600 words.`;
