// One request, by the method and to the address that the arguments name.
const [method, address] = process.argv.slice(2);
try {
  const answer = await fetch(address, { method, body: method === "GET" ? undefined : "news" });
  console.log(answer.status, await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  for (let why = error; why; why = why.cause) console.error(String(why));
  process.exitCode = 1;
}
