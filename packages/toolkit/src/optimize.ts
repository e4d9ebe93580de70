import {
  checkTag,
  definePrompt,
  noUsage,
  OutputParseError,
  overrideOf,
  PromptRenderError,
  sectionsIn,
  type BudgetTracker,
  type Budget,
  type Deadline,
  type EvaluateOptions,
  type OverridesStore,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
  type Section,
  type Session,
} from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { z } from "zod";
import { isWorkspaceTool } from "./filesystem-tools.ts";
import { planning } from "./planning.ts";
import { clearWorkspaceDigest, isDigestSection, setWorkspaceDigest } from "./workspace-digest.ts";

export type OptimizationScope = "session" | "global";

export interface OptimizeOptions {
  /** The caller's: gets the digest with scope "session", loses its copy with "global"; else untouched. */
  readonly session: Session;
  /** Default "session". */
  readonly scope?: OptimizationScope | undefined;
  /** Used in the optimisation too; "global" needs store and tag. */
  readonly overrides?: { readonly store: OverridesStore; readonly tag?: string | undefined } | undefined;
  /** Runs in it, as it is; left out: in one of its own. */
  readonly optimizationSession?: Session | undefined;
  readonly resources?: EvaluateOptions["resources"];
  readonly deadline?: Deadline | undefined;
  readonly budget?: Budget | BudgetTracker | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OptimizationResult {
  readonly response: PromptResponse<{ readonly digest: string }>;
  readonly digest: string;
  readonly scope: OptimizationScope;
  readonly sectionKey: string;
}

/**
 * Explores the workspace of a prompt once and keeps a digest of it for later evaluations.
 * @throws {PromptRenderError} of phase request, before anything is spent: the prompt lacks its digest section or its
 * workspace section, or scope "global" lacks store or tag.
 * @throws {OutputParseError} of phase response for an empty digest. And whatever `evaluate` rejects with.
 */
export async function optimize<Output>(
  adapter: ProviderAdapter,
  prompt: Prompt<Output>,
  options: OptimizeOptions,
): Promise<OptimizationResult> {
  const { scope = "session", session, overrides, optimizationSession, ...limits } = options;
  const { name } = prompt.template;
  const refuse = (message: string): never => {
    const spent = { usage: noUsage, messages: [], toolResults: [] } as const;
    throw new PromptRenderError(message, { phase: "request", promptName: name, ...spent });
  };
  const sections = sectionsIn(prompt.template);
  const digestSection = sections.find(({ section }) => isDigestSection(section));
  const workspace = sections.find(({ section }) => section.tools?.some(isWorkspaceTool));
  if (digestSection === undefined) return refuse(`The prompt "${name}" has no digest section: add workspaceDigest().`);
  if (workspace === undefined) return refuse(`The prompt "${name}" has no workspace section: add filesystemTools().`);
  const store = scope === "global" ? globalStore(overrides, refuse) : undefined;

  const inner = innerPrompt(prompt, workspace.section, digestSection.section).bind();
  const response = await adapter.evaluate(inner, {
    ...limits,
    session: optimizationSession ?? createSession(),
    ...(overrides === undefined ? {} : { overrides }),
  });
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
  const sectionKey = digestSection.path;
  if (store === undefined) setWorkspaceDigest(session, sectionKey, digest);
  else await persist(store, prompt, sectionKey, digest, session);
  return Object.freeze({ response, digest, scope, sectionKey });
}

interface GlobalStore {
  readonly store: OverridesStore;
  readonly tag: string;
}

function globalStore(overrides: OptimizeOptions["overrides"], refuse: (message: string) => never): GlobalStore {
  if (overrides?.tag === undefined) return refuse('The scope "global" needs overrides with a store and a tag.');
  try {
    checkTag(overrides.tag);
  } catch (error) {
    return refuse((error as Error).message);
  }
  return { store: overrides.store, tag: overrides.tag };
}

/** The digest takes the section's place in what is stored already. */
async function persist<Output>(
  { store, tag }: GlobalStore,
  { template }: Prompt<Output>,
  path: string,
  digest: string,
  session: Session,
): Promise<void> {
  const { descriptor } = template;
  const stored = (await store.resolve(descriptor, tag)) ?? { tag, sections: {}, tools: {} };
  const hash = overrideOf(template, tag).sections[path]?.hash ?? "";
  // A digest is a text as it is: no placeholder in it.
  const text = digest.replaceAll("{{", "\\{{");
  const kept = stored.sections[path] ?? {};
  await store.upsert(descriptor, { ...stored, sections: { ...stored.sections, [path]: { ...kept, hash, text } } });
  clearWorkspaceDigest(session, path);
}

function innerPrompt<Output>({ template }: Prompt<Output>, workspace: Section<never>, digest: Section<never>) {
  const { tools = [], policies, resources, slices } = workspace;
  const readOnly = tools.filter((tool) => tool.readOnly === true);
  return definePrompt({
    ns: `${template.ns}.optimization`,
    key: `${template.key}-workspace-digest`,
    output: z.object({ digest: z.string().describe("the digest, as Markdown") }),
    sections: [
      { key: "goal", title: "Goal", text: goal },
      { key: "expectations", title: "Expectations", text: expectations },
      planning(),
      {
        key: "workspace",
        title: workspace.title ?? "Workspace",
        text: "Look at the workspace with these tools; you cannot change it.",
        tools: readOnly,
        ...(policies && { policies }),
        ...(resources && { resources }),
        ...(slices && { slices }),
      },
      digest as Section,
      { key: "request", text: "Write the digest now.", role: "user" },
    ],
  });
}

const goal = `Write a digest of the workspace, so that whoever works in it later need not look again.`;
const expectations = `Say what the workspace is for, how it is laid out, the commands that build, test and run it, the conventions that its files follow, and what is dangerous to touch. Name paths. Say only what you saw. Keep it under 600 words.`;
