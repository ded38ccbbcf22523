// A text and two turns with a tool through Anthropic's TypeScript SDK, whole or streamed. Prints one JSON line per turn.
// node anthropic_turns.mjs URL TOKEN MODEL whole|streamed; run in the directory where the SDK is installed. The text is read as every
// example of the SDK reads it: `content[0].text`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const { default: Anthropic } = await import(pathToFileURL(require.resolve("@anthropic-ai/sdk")).href);

const [url, token, model, mode] = process.argv.slice(2);
const turns = [
  "say Hello.",
  'call get_weather {"city": "Oslo"}\nthen\nsay Rain in Oslo.',
  'call get_weather {"city": "Bergen"}\nthen\nsay Rain in Bergen, too.',
];
const input_schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ name: "get_weather", description: "The weather in a city.", input_schema }];
const client = new Anthropic({ baseURL: url, apiKey: token, maxRetries: 0 });

const complete = async (messages) => {
  const options = { model, max_tokens: 999, messages, tools };
  return mode === "whole" ? client.messages.create(options) : client.messages.stream(options).finalMessage();
};

const asked = [];
const messages = [];
for (const text of turns) {
  messages.push({ role: "user", content: text });
  let message = await complete(messages);
  messages.push({ role: "assistant", content: message.content });
  while (message.stop_reason === "tool_use") {
    const call = message.content[0];
    asked.push(call.input.city);
    const result = { type: "tool_result", tool_use_id: call.id, content: `4 degrees in ${call.input.city}` };
    messages.push({ role: "user", content: [result] });
    message = await complete(messages);
    messages.push({ role: "assistant", content: message.content });
  }
  if (typeof message.content[0].text !== "string") throw new Error(`content[0] is ${message.content[0].type}`);
  console.log(JSON.stringify({ text: message.content[0].text, asked }));
}
