// Two turns with a tool through one provider of the Vercel AI SDK, whole or streamed. Prints one JSON line per turn.
// node vercel_ai.mjs URL TOKEN PROVIDER MODEL whole|streamed; run in the directory where the packages are installed.
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
