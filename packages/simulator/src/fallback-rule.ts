import { isObject, type AnswerStep, type JsonObject, type SimulatedRequest } from "./types.ts";

/** Answers whatever no other rule did: an instance of the output schema, or an echo. */
export function fallbackRule(request: SimulatedRequest): AnswerStep {
  const asked = request.messages.findLast(({ role }) => role === "user")?.text ?? "";
  const short = asked.length > 200 ? `${asked.slice(0, 200)}…` : asked;
  if (request.output === undefined) return { text: `You said: ${short}` };
  return { output: instanceOf(request.output.schema, request.output.schema, short, 0) };
}

const deepest = 8;

/** The smallest value that fits a schema. */
export function instanceOf(root: JsonObject, schema: unknown, text: string, depth: number): unknown {
  if (!isObject(schema) || depth > deepest) return null;
  if (typeof schema["$ref"] === "string") return instanceOf(root, definition(root, schema["$ref"]), text, depth + 1);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return (schema["enum"] as unknown[])[0];
  const branches = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(branches)) {
    const fitting: unknown = branches.find((branch) => !isObject(branch) || branch["type"] !== "null") ?? branches[0];
    return instanceOf(root, fitting, text, depth + 1);
  }
  const type: unknown = Array.isArray(schema["type"]) ? schema["type"].find((name) => name !== "null") : schema["type"];
  if (type === "object") {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    return Object.fromEntries(
      Object.entries(properties).map(([key, inner]) => [key, instanceOf(root, inner, text, depth + 1)]),
    );
  }
  if (type === "array") return [instanceOf(root, schema["items"], text, depth + 1)];
  if (type === "number" || type === "integer") return typeof schema["minimum"] === "number" ? schema["minimum"] : 0;
  if (type === "boolean") return false;
  return type === "string" ? text : null;
}

function definition(root: JsonObject, ref: string): unknown {
  return ref
    .split("/")
    .slice(1)
    .reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), root);
}
