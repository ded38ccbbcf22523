// Two turns with a tool through one provider of the Vercel AI SDK, whole or streamed, or a stream that breaks with an error.
// Prints one JSON line per turn.
// node vercel_ai.mjs URL TOKEN PROVIDER MODEL whole|streamed|broken; run in the directory where the packages are installed.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);

const [url, token, provider, model, mode] = process.argv.slice(2);
const { generateText, streamText, stepCountIs, tool } = await load("ai");
const { z } = await load("zod");

const models = {
  "openai.responses": async () => (await load("@ai-sdk/openai")).createOpenAI({ baseURL: `${url}/v1`, apiKey: token })(model),
  "openai.chat": async () => (await load("@ai-sdk/openai")).createOpenAI({ baseURL: `${url}/v1`, apiKey: token }).chat(model),
  anthropic: async () => (await load("@ai-sdk/anthropic")).createAnthropic({ baseURL: `${url}/v1`, apiKey: token })(model),
  google: async () => (await load("@ai-sdk/google")).createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: token })(model),
};
const turns = [
  'reason Oslo first.\ncall get_weather {"city": "Oslo"}\nthen\nsay Rain in Oslo.',
  'reason Now Bergen.\ncall get_weather {"city": "Bergen"}\nthen\nsay Rain in Bergen, too.',
];

const asked = [];
const get_weather = tool({
  description: "The weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    asked.push(city);
    return `4 degrees in ${city}`;
  },
});

if (mode === "broken") {
  const prompt = "say Hello.\nfail 529 Busy.";
  let text = "", error = null;
  const stream = streamText({ model: await models[provider](), prompt, maxRetries: 0, onError: () => {} });
  for await (const part of stream.fullStream) {
    if (part.type === "text-delta") text += part.text;
    if (part.type === "error") error = part.error;
  }
  const shown = `${JSON.stringify(error)} ${error?.message}`;
  console.log(JSON.stringify({ text, raised: shown.includes("Busy.") || shown }));
  process.exit();
}

const messages = [];
for (const content of turns) {
  messages.push({ role: "user", content });
  const options = { model: await models[provider](), tools: { get_weather }, stopWhen: stepCountIs(3), messages, maxRetries: 0 };
  let text, response;
  if (mode === "streamed") {
    let failure;
    const stream = streamText({ ...options, onError: ({ error }) => (failure = error) });
    text = await stream.text.catch((error) => { throw failure ?? error; });
    if (failure) throw failure;
    response = await stream.response;
  } else {
    ({ text, response } = await generateText(options));
  }
  messages.push(...response.messages);
  console.log(JSON.stringify({ text, asked }));
}
