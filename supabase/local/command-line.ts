/** Reading the command line of a command: what is wrong is said in one line, which names where to look. */
import { parseArgs, type ParseArgsConfig } from "node:util";
import { errorCode, Failure } from "./failure.ts";

/** A wrong command line: one line, exit code 2. */
export class UsageFailure extends Failure {}

/**
 * As parseArgs() of Node. `command`: what is typed before the options, such as `npm start`.
 * Fails: UsageFailure on anything unknown.
 */
export function readCommandLine<T extends ParseArgsConfig>(
  command: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    if (!(error instanceof TypeError) || !errorCode(error)?.startsWith("ERR_PARSE_ARGS")) {
      throw error;
    }
    // The first sentence says what is wrong, the others how arguments that look like options are given: there are none.
    const [said] = error.message.split(/[.\n]/);
    throw new UsageFailure(`${said}: ${command} -- --help lists the options.`);
  }
}
