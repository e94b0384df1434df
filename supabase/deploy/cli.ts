/** Supabase's CLI, as package.json pins it, in the folder that is deployed. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { Failure } from "../local/failure.ts";
import { root } from "../local/paths.ts";

export interface Answer {
  code: number;
  /** Its answer, and its words besides. */
  out: string;
  err: string;
}

/** A command that failed; with the code of PostgreSQL's error, where a statement did. */
export class CliFailure extends Failure {
  readonly sqlState?: string;

  constructor(command: string, out: string, err: string) {
    super(`${command}: ${reasonOf(out, err)}`);
    this.sqlState = sqlError.exec(`${out}\n${err}`)?.[1];
  }
}

/** The line of the CLI with an error of PostgreSQL. The statement follows it, however long it is. */
const sqlError = /^.*\(SQLSTATE (\w{5})\).*$/m;

export interface Cli {
  /** Runs a command; fails with its own words when it does. */
  run(...args: string[]): Promise<string>;
  /** The answer of a command that reads, as JSON. Exit codes other than 0 may be allowed. */
  read<T>(args: string[], codes?: number[]): Promise<T>;
}

/** `folder` holds supabase/config.toml. */
export function openCli(folder: string, env: NodeJS.ProcessEnv): Cli {
  const answer = async (args: string[], codes: number[]) => {
    const { code, out, err } = await start([...args, "--workdir", folder], env);
    if (!codes.includes(code)) {
      throw new CliFailure(`supabase ${args.slice(0, 2).join(" ")}`, out, err);
    }
    return { out, err };
  };
  return {
    async run(...args) {
      const { out, err } = await answer([...args, "--yes"], [0]);
      return `${out}\n${err}`;
    },
    async read(args, codes = [0]) {
      const { out } = await answer([...args, "--output-format", "json"], codes);
      try {
        return JSON.parse(out);
      } catch {
        throw new Failure(
          `supabase ${args.slice(0, 2).join(" ")} answered no JSON: ${lastWords(out)}`,
        );
      }
    },
  };
}

function start(args: string[], env: NodeJS.ProcessEnv): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const program = join(root, "node_modules", "supabase", "dist", "supabase.js");
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...env,
        SUPABASE_TELEMETRY_DISABLED: "1",
        DO_NOT_TRACK: "1",
        NO_COLOR: "1",
        FORCE_COLOR: undefined,
      },
    });
    const said = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => said.out += text);
    child.stderr.setEncoding("utf8").on("data", (text) => said.err += text);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, ...said }));
  });
}

/** Refusals of the CLI whose own advice would do harm here. */
const inOurWords: Readonly<Record<string, string>> = {
  DbPushMissingLocalError:
    "the database has migrations that this checkout has not: it is older than the database. Check out the release that the database has, " +
    "or a newer one; --functions deploys older functions beside a newer schema (docs/operations.md, Go back)",
};

/** Why it failed: of an answer in JSON the message, of a statement what PostgreSQL said, else its last words. */
function reasonOf(out: string, err: string): string {
  for (const text of [out.trim(), ...`${out}\n${err}`.split("\n")]) {
    const { code, message } = errorIn(text);
    if (code && code in inOurWords) return inOurWords[code]!;
    if (message) return lastWords(message);
  }
  const said = sqlError.exec(err);
  return said ? firstWords(err.slice(said.index)) : lastWords(err.trim() || out);
}

/** The error in an answer in JSON; nothing in any other text. */
function errorIn(text: string): { code?: string; message?: string } {
  if (!text.startsWith("{")) return {};
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string; message?: string } };
    return error ?? {};
  } catch {
    return {};
  }
}

const firstWords = (text: string) => wordsOf(text).slice(0, 6).join("\n  ");
const lastWords = (text: string) => wordsOf(text).slice(-6).join("\n  ");

/** The lines that a program said, without its advice to ask for more. */
function wordsOf(text: string): string[] {
  return text.split("\n").map((line) => line.trim())
    .filter((line) => line && !line.startsWith("Try rerunning"));
}
