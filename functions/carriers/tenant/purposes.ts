/** What the secrets of a carrier are sealed for. */
export const credentialsPurpose = (code: string) => `carrier-credentials/${code}`;
export const webhookPurpose = (code: string) => `carrier-webhook/${code}`;
