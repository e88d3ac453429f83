// What the stacks of Node share: where the server is, and how their checks are told.

'use strict';

const where = {
  host: process.env.FIREBIRD_HOST,
  port: Number(process.env.FIREBIRD_PORT),
  user: process.env.FIREBIRD_USER,
  password: process.env.FIREBIRD_PASSWORD,
  database: process.env.FIREBIRD_DATABASE,
};

function same(given, wanted) {
  const [left, right] = [given, wanted].map((value) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part)));
  if (left !== right) throw new Error(`${left} instead of ${right}`);
}

async function fails(part, work) {
  try {
    await work();
  } catch (error) {
    if (String(error.message).includes(part)) return;
    throw error;
  }
  throw new Error(`no error instead of one with ${part}`);
}

async function check(name, work) {
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error.message ?? error).replace(/\s+/g, ' ')}`);
  }
}

// Runs all checks of a program and ends it, whatever it still has open.
function run(day) {
  day().then(() => process.exit(0), (error) => {
    console.log(`FAIL the day: ${error.stack.replace(/\s+/g, ' ')}`);
    process.exit(1);
  });
}

module.exports = { where, same, fails, check, run };
