// What an agent might write: compute something, say something, leave a file.
const sieve = [];
for (let n = 2; sieve.length < 25; n++) {
  if (sieve.every((p) => n % p !== 0)) sieve.push(n);
}
writeFile("primes.csv", "n,prime\n" + sieve.map((p, i) => `${i + 1},${p}`).join("\n") + "\n");
print(`the first ${sieve.length} primes sum to ${sieve.reduce((a, b) => a + b)}`);
