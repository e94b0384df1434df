/** JSON as the database wrote it, for a long answer that is only passed on: it is neither parsed nor written anew. */
export class JsonText {
  constructor(readonly text: string) {}

  parse(): unknown {
    return JSON.parse(this.text);
  }
}
