import type { AnswerStep, SimulatedRequest } from "@proviso/simulator";

/** Stands in for a model: looks the order up, wants to pay back what never came or came broken, and tells what became of it. */
export function simulatedClerk({ messages, toolResults }: SimulatedRequest): AnswerStep {
  const mail = messages.find(({ role }) => role === "user")?.text ?? "";
  const [order] = /\b[A-Z]-\d+\b/.exec(mail) ?? [];
  if (order === undefined)
    return { text: "Thank you for your mail. Which order is it about? Its number looks like A-17." };
  const results = toolResults();
  const found = results.find(({ name }) => name === "find_order");
  if (found === undefined) return { toolCalls: [{ name: "find_order", arguments: { order } }] };
  const { item, cents } = valueIn(found.text);
  if (item === undefined)
    return { text: `Thank you for your mail. We cannot find the order ${order}: is the number right?` };
  if (!/never|not (come|arrive)|lost|broken|damaged|missing/i.test(mail)) {
    return { text: `Thank you for your mail. ${order} is your ${item}. What can we do about it?` };
  }
  const told = results.find(({ name }) => name === "refund");
  if (told === undefined) return { toolCalls: [{ name: "refund", arguments: { order, cents } }] };
  const paid = valueIn(told.text);
  const sum = ((paid.cents ?? 0) / 100).toFixed(2);
  if (paid.receipt === undefined)
    return { text: `We are sorry about your ${item}. We cannot pay it back: ${told.text}` };
  return { text: `We are sorry about your ${item}. You have ${sum} € back, under ${paid.receipt}.` };
}

function valueIn(text: string): { readonly item?: string; readonly cents?: number; readonly receipt?: string } {
  try {
    return JSON.parse(text) as ReturnType<typeof valueIn>;
  } catch {
    return {};
  }
}
