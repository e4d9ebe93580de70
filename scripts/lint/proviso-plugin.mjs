/**
 * Lint rules of this repository, loaded by oxlint (.oxlintrc.json). Plain JavaScript: oxlint imports it as it is.
 *
 * `proviso/no-ambient`: time, randomness and ids are injected through `Run`, so that any run can be simulated from a
 * seed. Reading them from the surroundings is allowed in a few modules only (the overrides of .oxlintrc.json).
 *
 * `proviso/plain-words` and `proviso/plain-titles`: see plain-words.mjs.
 *
 * `proviso/no-accessors-in-literals`: V8 gives each object literal with a getter or setter a hidden class of its own, which
 * only a full garbage collection frees, with all that the getter can reach. In what an evaluation makes, that keeps whole
 * evaluations in memory.
 */
import { plainTitles, plainWords } from "./plain-words.mjs";

const bannedMembers = new Map([
  ["Date", new Set(["now"])],
  ["Math", new Set(["random"])],
  ["performance", new Set(["now", "timeOrigin"])],
  ["process", new Set(["hrtime", "uptime"])],
  ["AbortSignal", new Set(["timeout"])],
]);
const bannedAnywhere = new Set(["randomUUID", "getRandomValues", "randomBytes", "randomInt"]);
const bannedGlobals = new Set(["setTimeout", "setInterval", "setImmediate", "performance"]);
const bannedModules = /^(?:node:)?(?:timers|timers\/promises|perf_hooks)$/;
const globalObjects = new Set(["globalThis", "global", "window", "self"]);

/** @returns the name in `a.name`, `a["name"]`, `{ name }` and `{ "name": b }`, else undefined. */
function nameOf(key, computed) {
  if (!computed && key.type === "Identifier") return key.name;
  return key.type === "Literal" && typeof key.value === "string" ? key.value : undefined;
}

/** @returns `Date` for `Date` and for `globalThis.Date`, else undefined. */
function ownerOf(node) {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression" || node.object.type !== "Identifier") return undefined;
  return globalObjects.has(node.object.name) ? nameOf(node.property, node.computed) : undefined;
}

function isBanned(owner, name) {
  if (name === undefined) return false;
  if (bannedAnywhere.has(name)) return true;
  if (owner === undefined) return false;
  if (globalObjects.has(owner)) return bannedGlobals.has(name);
  return bannedMembers.get(owner)?.has(name) === true;
}

/** Whether an identifier node is a read of the variable, and not a key, a declaration or a type. */
function isGlobalRead(sourceCode, node) {
  for (let scope = sourceCode.getScope(node); scope; scope = scope.upper) {
    const reference = scope.references.find((candidate) => candidate.identifier === node);
    if (reference) return !reference.resolved || reference.resolved.defs.length === 0;
  }
  return false;
}

const noAmbient = {
  meta: { type: "problem", schema: [] },
  create(context) {
    const report = (node, what) =>
      context.report({ node, message: `${what}: take time, randomness and ids from Run, Clock or an option instead.` });
    return {
      MemberExpression(node) {
        const name = nameOf(node.property, node.computed);
        if (isBanned(ownerOf(node.object), name)) report(node, name);
      },
      ObjectPattern(node) {
        const source = node.parent.type === "VariableDeclarator" ? node.parent.init : undefined;
        for (const property of node.properties) {
          if (!source || property.type !== "Property") continue;
          const name = nameOf(property.key, property.computed);
          if (isBanned(ownerOf(source), name)) report(property, name);
        }
      },
      Identifier(node) {
        if (bannedGlobals.has(node.name) && isGlobalRead(context.sourceCode, node)) report(node, node.name);
      },
      NewExpression(node) {
        if (ownerOf(node.callee) === "Date" && node.arguments.length === 0) report(node, "new Date() without argument");
      },
      CallExpression(node) {
        if (ownerOf(node.callee) === "Date") report(node, "Date()");
      },
      ImportDeclaration(node) {
        if (node.importKind === "type") return;
        if (bannedModules.test(node.source.value)) report(node, node.source.value);
        for (const specifier of node.specifiers) {
          if (specifier.type !== "ImportSpecifier") continue;
          if (bannedAnywhere.has(specifier.imported.name)) report(specifier, specifier.imported.name);
        }
      },
    };
  },
};

const noAccessorsInLiterals = {
  meta: { type: "problem", schema: [] },
  create(context) {
    return {
      Property(node) {
        if (node.kind !== "get" && node.kind !== "set") return;
        const message = "A getter or setter in an object literal: write a class, or a function in place of the getter.";
        context.report({ node, message });
      },
    };
  },
};

export default {
  meta: { name: "proviso" },
  rules: {
    "no-accessors-in-literals": noAccessorsInLiterals,
    "no-ambient": noAmbient,
    "plain-words": plainWords,
    "plain-titles": plainTitles,
  },
};
