import { defineEvent, defineSlice, defineTool, toolError, type Tool } from "@proviso/core";
import { z } from "zod";

const host = z.object({ host: z.string().describe("name of the host, such as db-2") });

/** What the tools of this example act on: two databases whose primary has run out of disk. */
interface Fleet {
  readonly disk: Readonly<Record<string, number>>;
  readonly lagSeconds: Readonly<Record<string, number>>;
}

const logsRotated = defineEvent("runbook.logs-rotated", host);
const replicaRestarted = defineEvent("runbook.replica-restarted", host);

/** Kept in the session, so that a call that fails, or is undone, leaves no trace. */
export const fleet = defineSlice<Fleet>({
  name: "runbook.fleet",
  initial: { disk: { "db-1": 98, "db-2": 61 }, lagSeconds: { "db-2": 1260 } },
  reducers: ({ on }) => {
    on(logsRotated, ({ disk, lagSeconds }, at) => ({ disk: { ...disk, [at.host]: 54 }, lagSeconds }));
    on(replicaRestarted, ({ disk, lagSeconds }, at) => ({ disk, lagSeconds: { ...lagSeconds, [at.host]: 3 } }));
  },
});

export const diskUsage = defineTool({
  name: "disk_usage",
  description: "How full the volumes of a host are, in percent.",
  input: host,
  readOnly: true,
  execute({ host: name }, { session }) {
    const { disk } = session.get(fleet);
    return Object.hasOwn(disk, name) ? `${name}: ${disk[name]} %` : toolError(`There is no host ${name}.`);
  },
});

export const rotateLogs = defineTool({
  name: "rotate_logs",
  description: "Compress the logs of a host and remove those older than seven days.",
  input: host,
  execute({ host: name }, { session }) {
    session.dispatch(logsRotated({ host: name }));
    return `${name}: logs rotated, ${session.get(fleet).disk[name]} % now`;
  },
});

export const replicationLag = defineTool({
  name: "replication_lag",
  description: "Seconds by which a replica is behind.",
  input: host,
  readOnly: true,
  execute({ host: name }, { session }) {
    const { lagSeconds } = session.get(fleet);
    return Object.hasOwn(lagSeconds, name) ? `${name}: ${lagSeconds[name]} s` : toolError(`${name} is no replica.`);
  },
});

export const restartReplica = defineTool({
  name: "restart_replica",
  description: "Restart a replica; its readers get errors for about twenty seconds.",
  input: host,
  execute({ host: name }, { session }) {
    session.dispatch(replicaRestarted({ host: name }));
    return `${name}: streams again, ${session.get(fleet).lagSeconds[name]} s behind`;
  },
});

const target = z.object({ name: z.string().describe("of the host, service, queue or domain") });

/** The tools of the sections that this incident does not need. */
function other(name: string, description: string, readOnly = true): Tool {
  return defineTool({
    name,
    description,
    input: target,
    readOnly,
    execute: ({ name: of }) => toolError(`Nothing is known of ${of} here.`),
  });
}

/** By the file of their section. */
export const otherTools: Readonly<Record<string, readonly Tool[]>> = {
  connections: [
    other("list_connections", "Connections by service and state."),
    other("end_connection", "End the oldest session of a service that is idle in a transaction.", false),
  ],
  queries: [other("slow_queries", "The ten statements that took most time in the last quarter of an hour.")],
  certificates: [
    other("certificate_of", "Expiry, chain and names of the certificate that clients see."),
    other("renew_certificate", "Ask the authority for a new certificate and put it in place.", false),
  ],
  dns: [other("resolve_name", "The answers of authoritative servers, own and public resolvers.")],
  memory: [other("memory_by_process", "Resident memory by process: now, an hour ago, yesterday.")],
  queues: [other("queue_depth", "Messages, the age of the oldest, and how many come and go in a minute.")],
  deploys: [
    other("recent_deploys", "Versions and flags of a service in the last day."),
    other("roll_back", "Put the version before in place, instance by instance.", false),
  ],
  network: [other("probe_path", "Loss, round trip and largest packet on the way to a host.")],
  backups: [other("list_backups", "Base backups and the last time to which can be restored.")],
};
