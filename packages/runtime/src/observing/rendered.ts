// How events show a prompt and the limits of its evaluation.
import type { BudgetTracker, PromptRendered, ProviderRequested, RenderedSection } from "@proviso/core";
import { toJsonValue } from "@proviso/core/internal";
import { partsOf } from "../budgets.ts";
import type { Run, Setup } from "../run.ts";

type Limits = PromptRendered["limits"];
type BareRequested = Omit<ProviderRequested, "sessionId" | "evaluationId" | "seq" | "at">;

/** Emits `prompt.rendered`. */
export function announceRendering(run: Run, { adapter, provider }: Setup): void {
  run.announced = run.rendered;
  run.announce("prompt.rendered", () => {
    const { text, descriptor, tools, output, overrides } = run.rendered;
    const params = run.files?.params(run.prompt.params) ?? run.prompt.params;
    return {
      type: "prompt.rendered",
      promptName: run.promptName,
      adapter: adapter.name,
      model: provider.model,
      text,
      tools: tools.map(({ name }) => name),
      params: (toJsonValue(params)?.value ?? {}) as Readonly<Record<string, unknown>>,
      descriptor,
      overrides,
      sections: sectionsOf(run),
      limits: limitsOf(run),
      output: output === undefined ? "text" : "json",
      earlierMessages: run.conversation.earlier,
    };
  });
}

/** Emits `provider.requested`, with what the model reads for the first time. */
export function announceRequest(run: Run, attempt: number, messages: number): void {
  const { conversation, rendered, announced, turn } = run;
  const { added } = conversation;
  conversation.added = undefined;
  run.announced = rendered;
  run.announce("provider.requested", () => {
    if (added === undefined && announced === rendered) {
      // Fields that come later would stand in a second object.
      return { type: "provider.requested", turn, attempt, messages, evaluationId: "", at: 0, sessionId: "", seq: 0 };
    }
    const bare: BareRequested = { type: "provider.requested", turn, attempt, messages };
    const news = added === undefined ? bare : withAdded(bare, added);
    if (announced === rendered) return news;
    const tools = rendered.tools.map(({ name }) => name);
    return { ...news, prompt: { text: rendered.text, sections: sectionsOf(run), tools } };
  });
}

function withAdded(bare: BareRequested, added: readonly string[]): BareRequested {
  // oxlint-disable-next-line proviso/plain-words -- the field's name is part of the public event
  return { ...bare, said: added };
}

/** The parts of the text as events show it: offsets in a text without secrets are others. */
function sectionsOf({ rendered, redaction }: Run): readonly RenderedSection[] {
  const { text } = rendered;
  const shown = redaction.value(text);
  if (shown === text) return rendered.sections();
  const sections = rendered.sections(redaction.value);
  if ((sections.at(-1)?.end ?? 0) === shown.length) return sections;
  // A secret that lies across sections leaves no place where one of them ends.
  return [];
}

function limitsOf({ limits, maxTurns }: Run): Limits {
  const { deadline, budget } = limits;
  const [narrowest] = partsOf(budget)
    .filter((tracker) => Object.keys(tracker.budget).some((name) => name !== "deadline"))
    .toSorted(byRoom);
  const left = narrowest && budgetOf(narrowest);
  return { ...(deadline && { deadline: deadline.expiresAt.getTime() }), ...(left && { budget: left }), maxTurns };
}

function budgetOf({ budget, consumed }: BudgetTracker): Limits["budget"] {
  const { deadline: _, ...limits } = budget;
  return { ...limits, consumed: { ...consumed } };
}

/** The one that leaves the fewest tokens first; among those that limit dollars alone, the one that leaves the fewest. */
function byRoom(a: BudgetTracker, b: BudgetTracker): number {
  const [left, other] = [a.remaining(), b.remaining()];
  const tokens = tokensIn(left);
  const others = tokensIn(other);
  return tokens === others ? Math.sign(left.costUsd - other.costUsd) || 0 : Math.sign(tokens - others);
}

function tokensIn({ totalTokens, inputTokens, outputTokens }: ReturnType<BudgetTracker["remaining"]>): number {
  return Math.min(totalTokens, inputTokens, outputTokens);
}
