/** Certificates made at test time with openssl. */

export interface MadeCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** For 127.0.0.1, signed by itself. The key can be read by its owner alone. `name` tells several in one directory apart. */
export async function makeCertificate(directory: string, name: string): Promise<MadeCertificate> {
  const certFile = `${directory}/${name}.pem`;
  const keyFile = `${directory}/${name}.key`;
  await openssl([
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"],
    ...["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"],
    ...["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", keyFile, "-out", certFile],
  ]);
  await Deno.chmod(keyFile, 0o600);
  return { certFile, keyFile };
}

/** An authority of our own, and a certificate that it has signed: for this machine, and for more names. */
export async function makeAuthority(
  directory: string,
  names: readonly string[] = [],
): Promise<MadeCertificate & { readonly caFile: string }> {
  const at = (name: string) => `${directory}/${name}`;
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const ca = ["-subj", "/CN=test authority", "-addext", "basicConstraints=critical,CA:TRUE"];
  await openssl(["req", "-x509", ...key, "-days", "30", ...ca, "-keyout", at("ca.key"), "-out", at("ca.pem")]);
  await openssl(["req", "-new", ...key, "-subj", "/CN=localhost", "-keyout", at("leaf.key"), "-out", at("leaf.csr")]);
  const alternatives = ["DNS:localhost", "IP:127.0.0.1", ...names.map((name) => `DNS:${name}`)].join();
  await Deno.writeTextFile(at("leaf.ext"), `subjectAltName=${alternatives}\nbasicConstraints=CA:FALSE\n`);
  const signing = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "30"];
  await openssl([
    ...["x509", "-req", "-in", at("leaf.csr"), ...signing, "-extfile", at("leaf.ext"), "-out", at("leaf.pem")],
  ]);
  await Deno.chmod(at("leaf.key"), 0o600);
  return { caFile: at("ca.pem"), certFile: at("leaf.pem"), keyFile: at("leaf.key") };
}

async function openssl(args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", { args: [...args], stdin: "null" }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
