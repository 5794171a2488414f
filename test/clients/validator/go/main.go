// solana-go sends and confirms with every commitment. Prints TAP.
//
// Arguments: the RPC URL, the WebSocket URL, the secret key of a payer as a JSON array.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/rpc"
	"github.com/gagliardetto/solana-go/rpc/ws"
)

const (
	lamports    = 1_000_000_000
	confirmTime = 2 * time.Minute
)

func send(
	client *rpc.Client, socket *ws.Client, payer solana.PrivateKey, commitment rpc.CommitmentType,
) error {
	ctx, cancel := context.WithTimeout(context.Background(), confirmTime)
	defer cancel()
	latest, err := client.GetLatestBlockhash(ctx, commitment)
	if err != nil {
		return err
	}
	from, to := payer.PublicKey(), solana.NewWallet().PublicKey()
	transfer := system.NewTransferInstruction(lamports, from, to).Build()
	transaction, err := solana.NewTransaction(
		[]solana.Instruction{transfer}, latest.Value.Blockhash, solana.TransactionPayer(from),
	)
	if err != nil {
		return err
	}
	_, err = transaction.Sign(func(solana.PublicKey) *solana.PrivateKey { return &payer })
	if err != nil {
		return err
	}
	options := rpc.TransactionOpts{PreflightCommitment: commitment}
	signature, err := client.SendTransactionWithOpts(ctx, transaction, options)
	if err != nil {
		return err
	}
	outcome, err := socket.SignatureSubscribe(signature, commitment)
	if err != nil {
		return err
	}
	defer outcome.Unsubscribe()
	received, err := outcome.Recv(ctx)
	if err != nil {
		return err
	}
	if received.Value.Err != nil {
		return fmt.Errorf("%s: %v", signature, received.Value.Err)
	}
	return nil
}

func main() {
	var secret []byte
	numbers := []int{}
	if err := json.Unmarshal([]byte(os.Args[3]), &numbers); err != nil {
		panic(err)
	}
	for _, number := range numbers {
		secret = append(secret, byte(number))
	}
	socket, err := ws.Connect(context.Background(), os.Args[2])
	if err != nil {
		panic(err)
	}
	defer socket.Close()
	client := rpc.New(os.Args[1])
	commitments := []rpc.CommitmentType{
		rpc.CommitmentProcessed, rpc.CommitmentConfirmed, rpc.CommitmentFinalized,
	}
	for index, commitment := range commitments {
		state := "ok"
		if err := send(client, socket, solana.PrivateKey(secret), commitment); err != nil {
			state = "not ok"
			fmt.Printf("# %v\n", err)
		}
		fmt.Printf("%s %d - solana-go confirms at %s\n", state, index+1, commitment)
	}
	fmt.Printf("1..%d\n", len(commitments))
}
