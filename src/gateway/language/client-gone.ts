/** The reason of an abort that the client caused by leaving. */
export class ClientGone extends Error {
  constructor() {
    super("The client has gone.");
    this.name = "ClientGone";
  }
}
