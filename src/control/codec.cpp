// SPDX-License-Identifier: BSD-3-Clause

#include "control/codec.hpp"

#include "control/control_generated.h"
#include "control/frame.hpp"

#include <algorithm>
#include <bit>

namespace be::control {

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// "BYTEXPRS" as bytes.
constexpr std::uint64_t magic = 0x5352505845545942ull;

// Depth and number of tables of the deepest message (Frame, Connect,
// ConnectInfo), so that the verifier stops early at anything else.
constexpr std::size_t max_depth  = 4;
constexpr std::size_t max_tables = 4;

// FlatBuffers' fixed arrays and ours hold the same bytes.
template<class To, class From>
To convert(const From &from) noexcept
{
    return std::bit_cast<To>(from);
}

fb::Offer to_wire(const Offer &offer)
{
    return fb::Offer(offer.major, offer.minor, offer.features,
                     convert<fb::Bytes32>(offer.nonce));
}

Offer from_wire(const fb::Offer &offer)
{
    return {offer.major(), offer.minor(), offer.features(),
            convert<Nonce>(offer.nonce())};
}

Offset<fb::ConnectInfo> to_wire(FlatBufferBuilder &builder, const ConnectInfo &info)
{
    std::vector<fb::QueuePair> qps;
    for (const auto &qp : info.qps) {
        qps.emplace_back(qp.qpn, qp.psn);
    }

    auto gid = convert<fb::Bytes16>(info.gid);
    fb::Endpoint control(convert<fb::Bytes16>(info.control.ip), info.control.port);
    return fb::CreateConnectInfo(builder, info.fabric_id,
                                 builder.CreateVectorOfStructs(qps), &gid, info.lid,
                                 info.link_layer, info.mtu, info.max_rd_atomic,
                                 info.segment_size, info.initial_messages,
                                 info.cell_address, info.cell_rkey, &control,
                                 info.data_version, info.byte_unit, info.initial_units,
                                 info.session, info.resume, info.epoch);
}

ConnectInfo from_wire(const fb::ConnectInfo &wire)
{
    ConnectInfo info;

    info.fabric_id = wire.fabric_id();
    // One more than allowed is enough for validate() to refuse the rest.
    auto count = std::min<std::size_t>(wire.qps()->size(), max_queue_pairs + 1);
    for (std::size_t i = 0; i < count; ++i) {
        const auto *qp = wire.qps()->Get(i);
        info.qps.push_back({qp->qpn(), qp->psn()});
    }
    info.gid              = convert<std::array<std::uint8_t, 16>>(*wire.gid());
    info.lid              = wire.lid();
    info.link_layer       = wire.link_layer();
    info.mtu              = wire.mtu();
    info.max_rd_atomic    = wire.max_rd_atomic();
    info.segment_size     = wire.segment_size();
    info.initial_messages = wire.initial_messages();
    info.cell_address     = wire.cell_address();
    info.cell_rkey        = wire.cell_rkey();
    info.data_version     = wire.data_version();
    info.byte_unit        = wire.byte_unit();
    info.initial_units    = wire.initial_units();
    info.control.ip       = convert<std::array<std::uint8_t, 16>>(wire.control()->ip());
    info.control.port     = wire.control()->port();
    info.session          = wire.session();
    info.resume           = wire.resume();
    info.epoch            = wire.epoch();
    return info;
}

fb::Position to_wire(const Position &position)
{
    return fb::Position(position.expected, position.writes, position.messages,
                        position.units, position.messages_returned,
                        position.units_returned);
}

Position from_wire(const fb::Position &position)
{
    return {position.expected(),          position.writes(),
            position.messages(),          position.units(),
            position.messages_returned(), position.units_returned()};
}

RecoverInfo from_wire(const fb::Recover &wire)
{
    return {wire.epoch(), wire.path(), from_wire(*wire.position()),
            from_wire(*wire.connect())};
}

std::string printable(const flatbuffers::String *text)
{
    std::string result;

    if (text != nullptr) {
        result = text->str().substr(0, max_text);
    }
    for (auto &c : result) {
        if ((c < ' ') || (c > '~')) {
            c = '?';
        }
    }
    return result;
}

// Builds the body of each kind of message.
struct Encoder {
    FlatBufferBuilder &builder;

    Offset<fb::Frame> frame(fb::Body type, Offset<void> body)
    {
        return fb::CreateFrame(builder, type, body);
    }

    Offset<fb::Frame> operator()(const Challenge &message)
    {
        auto offer = to_wire(message.offer);
        return frame(fb::Body::Challenge,
                     fb::CreateChallenge(builder, magic, &offer).Union());
    }

    Offset<fb::Frame> operator()(const Hello &message)
    {
        auto offer = to_wire(message.offer);
        auto proof = convert<fb::Bytes32>(message.proof);
        return frame(fb::Body::Hello,
                     fb::CreateHello(builder, magic, &offer, message.from_fabric,
                                     message.to_fabric, &proof)
                             .Union());
    }

    Offset<fb::Frame> operator()(const Welcome &message)
    {
        auto proof = convert<fb::Bytes32>(message.proof);
        return frame(fb::Body::Welcome,
                     fb::CreateWelcome(builder, message.minor, message.features, &proof)
                             .Union());
    }

    Offset<fb::Frame> operator()(const Connect &message)
    {
        auto info = to_wire(builder, message.info);
        return frame(fb::Body::Connect, fb::CreateConnect(builder, info).Union());
    }

    Offset<fb::Frame> operator()(const Accept &message)
    {
        auto info = to_wire(builder, message.info);
        return frame(fb::Body::Accept, fb::CreateAccept(builder, info).Union());
    }

    Offset<fb::Frame> operator()(const Ready &)
    {
        return frame(fb::Body::Ready, fb::CreateReady(builder).Union());
    }

    Offset<fb::Frame> operator()(const Refuse &message)
    {
        auto text = builder.CreateString(message.text.substr(0, max_text));
        return frame(fb::Body::Refuse,
                     fb::CreateRefuse(builder, static_cast<std::uint8_t>(message.reason),
                                      text)
                             .Union());
    }

    Offset<fb::Frame> operator()(const Ping &message)
    {
        return frame(fb::Body::Ping, fb::CreatePing(builder, message.value).Union());
    }

    Offset<fb::Frame> operator()(const Pong &message)
    {
        return frame(fb::Body::Pong, fb::CreatePong(builder, message.value).Union());
    }

    Offset<fb::Frame> operator()(const Goodbye &)
    {
        return frame(fb::Body::Goodbye, fb::CreateGoodbye(builder).Union());
    }

    Offset<fb::Frame> operator()(const Recover &message)
    {
        const auto &info = message.info;
        auto connect     = to_wire(builder, info.connect);
        auto position    = to_wire(info.position);
        return frame(fb::Body::Recover,
                     fb::CreateRecover(builder, info.epoch, info.path, &position, connect)
                             .Union());
    }

    Offset<fb::Frame> operator()(const Recovered &message)
    {
        return frame(fb::Body::Recovered,
                     fb::CreateRecovered(builder, message.epoch).Union());
    }

    Offset<fb::Frame> operator()(const Data &message)
    {
        const auto &data = message.view;
        auto payload     = builder.CreateVector(data.payload.data(), data.payload.size());
        auto header      = builder.CreateVector(data.header.data(), data.header.size());
        return frame(
                fb::Body::Data,
                fb::CreateData(builder, data.kind, data.epoch, header, payload).Union());
    }

    Offset<fb::Frame> operator()(const Probe &message)
    {
        return frame(fb::Body::Probe,
                     fb::CreateProbe(builder, magic, message.to_fabric).Union());
    }
};

std::span<const std::uint8_t> from_wire(const flatbuffers::Vector<std::uint8_t> &bytes)
{
    return {bytes.data(), bytes.size()};
}

using Decoded = std::variant<Message, DecodeError>;

Decoded malformed(std::string text)
{
    return DecodeError{std::move(text)};
}

Decoded decode_challenge(const fb::Challenge &body)
{
    if (body.magic() != magic) {
        return malformed("Challenge without the magic number of this protocol");
    }
    return Challenge{from_wire(*body.offer())};
}

Decoded decode_hello(const fb::Hello &body)
{
    if (body.magic() != magic) {
        return malformed("Hello without the magic number of this protocol");
    }
    return Hello{from_wire(*body.offer()), body.from_fabric(), body.to_fabric(),
                 convert<Proof>(*body.proof())};
}

Decoded decode_probe(const fb::Probe &body)
{
    if (body.magic() != magic) {
        return malformed("Probe without the magic number of this protocol");
    }
    return Probe{body.to_fabric()};
}

Decoded decode_data(const fb::Data &body)
{
    DataView view{body.kind(), body.epoch(), from_wire(*body.header()),
                  from_wire(*body.payload())};
    auto problem = validate(view);
    if (!problem.empty()) {
        return malformed("Data: " + problem);
    }
    return Data{view};
}

template<class T, class Body>
Decoded decode_info(const char *name, const Body &body)
{
    auto info    = from_wire(body);
    auto problem = validate(info);
    if (!problem.empty()) {
        return malformed(std::string(name) + ": " + problem);
    }
    return T{std::move(info)};
}

} // namespace

const char *name_of(const Message &message) noexcept
{
    static constexpr const char *names[] = {"Challenge", "Hello",   "Welcome",
                                            "Connect",   "Accept",  "Ready",
                                            "Refuse",    "Ping",    "Pong",
                                            "Goodbye",   "Recover", "Recovered",
                                            "Probe",     "Data"};

    static_assert(std::size(names) == std::variant_size_v<Message>);
    return names[message.index()];
}

void encode(const Message &message, std::vector<std::uint8_t> &out)
{
    FlatBufferBuilder builder(256);

    fb::FinishFrameBuffer(builder, std::visit(Encoder{builder}, message));
    auto size = builder.GetSize();
    for (std::size_t i = 0; i < frame_header_size; ++i) {
        out.push_back(static_cast<std::uint8_t>(size >> (8 * i)));
    }
    out.insert(out.end(), builder.GetBufferPointer(), builder.GetBufferPointer() + size);
}

Decoded decode(std::span<const std::uint8_t> bytes)
{
    flatbuffers::Verifier verifier(bytes.data(), bytes.size(), max_depth, max_tables);
    if (!fb::VerifyFrameBuffer(verifier)) {
        return malformed("frame of " + std::to_string(bytes.size()) +
                         " bytes is not a control message");
    }

    const auto *frame = fb::GetFrame(bytes.data());
    switch (frame->body_type()) {
    case fb::Body::Challenge:
        return decode_challenge(*frame->body_as_Challenge());
    case fb::Body::Hello:
        return decode_hello(*frame->body_as_Hello());
    case fb::Body::Welcome: {
        const auto *body = frame->body_as_Welcome();
        return Welcome{body->minor(), body->features(), convert<Proof>(*body->proof())};
    }
    case fb::Body::Connect:
        return decode_info<Connect>("Connect", *frame->body_as_Connect()->info());
    case fb::Body::Accept:
        return decode_info<Accept>("Accept", *frame->body_as_Accept()->info());
    case fb::Body::Ready:
        return Ready{};
    case fb::Body::Refuse: {
        const auto *body = frame->body_as_Refuse();
        return Refuse{reason_from_wire(body->reason()), printable(body->text())};
    }
    case fb::Body::Ping:
        return Ping{frame->body_as_Ping()->value()};
    case fb::Body::Pong:
        return Pong{frame->body_as_Pong()->value()};
    case fb::Body::Goodbye:
        return Goodbye{};
    case fb::Body::Recover:
        return decode_info<Recover>("Recover", *frame->body_as_Recover());
    case fb::Body::Recovered:
        return Recovered{frame->body_as_Recovered()->epoch()};
    case fb::Body::Probe:
        return decode_probe(*frame->body_as_Probe());
    case fb::Body::Data:
        return decode_data(*frame->body_as_Data());
    default:
        return malformed("message kind " +
                         std::to_string(static_cast<unsigned>(frame->body_type())) +
                         " is not of protocol version " + std::to_string(protocol_major) +
                         "." + std::to_string(protocol_minor));
    }
}

} // namespace be::control
