import type { AnswerStep, SimulatedRequest } from "@proviso/simulator";

/** Stands in for a model: remembers what its user says of themselves, and answers word by word from what it knows. */
export function simulatedFriend({ messages, system }: SimulatedRequest): AnswerStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const said = messages[at]?.text ?? "";
  const fact = factIn(said);
  const isRemembered = messages.slice(at).some(({ role }) => role === "tool");
  if (fact !== undefined && !isRemembered) return { toolCalls: [{ name: "remember", arguments: { fact } }] };
  return { text: answerTo(said, fact, factsIn(system)), chunkCharacters: 6, eventMs: 15 };
}

function answerTo(said: string, fact: string | undefined, known: readonly string[]): string {
  if (fact !== undefined) return `Good to know: ${fact} I will keep it in mind.`;
  if (/\b(know|remember)\b/i.test(said)) {
    return known.length === 0 ? "I know nothing about you yet." : `I know this about you: ${known.join(" ")}`;
  }
  if (/\b(hello|hi|hey)\b/i.test(said)) return "Hello! Tell me something about yourself.";
  return `You said: “${said}” I am a simulation of few words; a model would say more.`;
}

/** "I am …", "I like …", "My … is …" as a sentence about the user. */
function factIn(said: string): string | undefined {
  const [, verb = "", rest = ""] = /\bI (am|like|have|live|work)\b ([^.!?\n]+)/i.exec(said) ?? [];
  if (rest !== "") return `The user ${verb === "am" ? "is" : verb === "have" ? "has" : `${verb}s`} ${rest.trim()}.`;
  const [, what = "", is = ""] = /\bmy (\w{1,30}) is ([^.!?\n]+)/i.exec(said) ?? [];
  return is === "" ? undefined : `The user's ${what} is ${is.trim()}.`;
}

function factsIn(system: string): readonly string[] {
  return [...system.matchAll(/^- (.+)$/gm)].map(([, fact = ""]) => fact);
}
